"""The summary of a whole run that the report is given."""

from dataclasses import replace

from assay.findings.binary_matches import Sameness
from assay.findings.run_summary import RunSummary, summarise
from assay.judging.judge import judge
from assay.records.evaluations import Benchmark, Metric, Term
from assay.report.remarks import remarks
from tests import builders as b

RATE = Benchmark(kind="benchmark", metric=Metric.RATE, terms=(Term(comparison="duel", arm="ours"),))


def summary(content: str = "our binary", kind: str = "device") -> RunSummary:
    claims = [
        b.claim("right", RATE, value=b.FLOP["ours"] / b.TIMES_MS["ours"] * 1e-9),
        b.claim("wrong", RATE, value=900.0),
        b.claim("open", b.unanswerable()),
    ]
    catalog = b.catalog(claims)
    evidence = b.evidence(
        [b.measure(claim.id) for claim in claims],
        benchmarks=[b.benchmark()],
        checks=[b.correctness()],
        builds=[b.build("our_kernel", content=content)],
        programs=[b.program_record("ex88", [], ["text"] * 5)],
        kinds={"h100": kind, "l4": "none"},
    )
    return summarise(catalog, evidence, judge(catalog, evidence))


class TestCounts:
    def test_every_verdict_counts(self) -> None:
        assert summary().total == 3

    def test_chance_is_counted_over_judged_intervals(self) -> None:
        chance = summary().chance
        assert (chance.judged, chance.decided, chance.alpha) == (2, 2, 0.05)
        assert chance.expected_wrong == 0.1
        assert chance.expected_missed == 0.2
        assert (chance.measurements, len(chance.families)) == (1, 1)
        assert chance.families[0].claims == ("right", "wrong")

    def test_narrow_intervals_are_seldom_inconclusive_by_chance(self) -> None:
        assert 0 < summary().chance.expected_inconclusive < 0.01

    def test_one_sided_claims_are_told_apart(self) -> None:
        """At its bound such a claim cannot be decided: nothing can be expected of it."""
        chance = summary().chance
        assert (chance.with_margin, chance.judged) == (2, 2)
        (two_sided,) = [line for line in remarks(summary(), ()) if "inconclusive" in line]
        assert two_sided.startswith("2 of them have a margin on both sides.")
        mixed = replace(summary(), chance=replace(chance, judged=5))
        assert any(
            line.startswith("3 of them are one-sided (at least or at most)")
            for line in remarks(mixed, ())
        )
        assert not any("one-sided" in line for line in remarks(summary(), ()))


class TestBinaries:
    def test_identical_binaries_are_recognised(self) -> None:
        ours = next(m for m in summary().binaries if m.artifact == "our_kernel")
        assert ours.identical
        assert (ours.arch, ours.target) == ("sm_90a", "h100")

    def test_other_binaries_are_told_apart(self) -> None:
        matches = {m.artifact: m for m in summary("another").binaries}
        assert matches["our_kernel"].sameness is Sameness.OTHER
        assert matches["ex88"].sameness is Sameness.NOT_COMPILED


class TestTargets:
    def test_says_where_when_and_how_long(self) -> None:
        h100, l4 = summary().targets
        assert (h100.product, h100.gpu_uuid) == ("NVIDIA H100", b.GPU)
        assert h100.recorded_at == b.WHEN
        assert h100.seconds == {"correctness": 3.0, "benchmark": 10.0, "program": 5.0}
        assert h100.gpu_seconds == 2.5
        assert (h100.blocks, h100.discarded_blocks) == (20, 0)
        assert (l4.kind, l4.product, l4.samples) == ("none", None, 0)

    def test_tells_this_run_from_an_earlier_report(self) -> None:
        here, before = summary(), summary(kind="recorded")
        assert (here.measured_here, here.figures_here, here.figures_recorded) == (True, 2, 0)
        assert (before.measured_here, before.figures_here, before.figures_recorded) == (False, 0, 2)

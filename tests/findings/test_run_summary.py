"""The summary of a whole run that the report is given."""

from assay.findings.binary_matches import Sameness
from assay.findings.run_summary import RunSummary, summarise
from assay.judging.judge import judge
from assay.records.evaluations import Benchmark, Metric, Term
from tests import builders as b

RATE = Benchmark(kind="benchmark", metric=Metric.RATE, terms=(Term(comparison="duel", arm="ours"),))


def summary(kind: str = "device") -> RunSummary:
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
        builds=[b.build("our_kernel", content="another")],
        programs=[b.program_record("ex88", [], ["text"] * 5)],
        kinds={"h100": kind, "l4": "none"},
    )
    return summarise(catalog, evidence, judge(catalog, evidence))


def test_chance_is_counted_over_judged_intervals_once_a_measurement() -> None:
    found, chance = summary(), summary().chance
    assert found.total == 3
    assert (chance.judged, chance.decided, chance.with_margin, chance.alpha) == (2, 2, 2, 0.05)
    assert (chance.measurements, chance.shared) == (1, 1)
    assert 0 < chance.expected_inconclusive < 0.01


def test_other_binaries_are_told_apart() -> None:
    matches = {m.artifact: m.sameness for m in summary().binaries}
    assert matches["our_kernel"] is Sameness.OTHER
    assert matches["ex88"] is Sameness.NOT_COMPILED


def test_says_how_long_each_target_took() -> None:
    h100, l4 = summary().targets
    assert h100.name == "NVIDIA H100"
    assert h100.seconds == {"correctness": 3.0, "benchmark": 10.0, "program": 5.0}
    assert (h100.gpu_seconds, h100.blocks, h100.discarded_blocks) == (2.5, 20, 0)
    assert (l4.name, l4.samples) == ("l4", 0)


def test_tells_this_run_from_an_earlier_report() -> None:
    here, before = summary(), summary("recorded")
    assert (here.measured_here, here.figures_here, here.figures_recorded) == (True, 2, 0)
    assert (before.measured_here, before.figures_here, before.figures_recorded) == (False, 0, 2)

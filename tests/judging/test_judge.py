"""Verdicts on synthetic evidence whose truth is known: every status, gate and conversion."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.base.errors import BadInput
from assay.evidence.model import RecordedBuild
from assay.judging.decision import equivalence
from assay.judging.formulas import for_program
from assay.judging.judge import judge
from assay.judging.what_ran import PACKAGE
from assay.records.arithmetic import Formula, Operand, SourcePlace
from assay.records.claims import Audit, Claim, ClaimKind, Relation
from assay.records.evaluations import (
    Arithmetic,
    FlopFormula,
    Inspection,
    Invocation,
    Metric,
    NotRun,
    Program,
    Quantity,
    Support,
    Term,
    Unanswerable,
)
from assay.records.measurements import BenchmarkRecord, VerificationRun
from assay.records.plan import BuildJob
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict
from assay.statistics.summaries import Summary
from tests import builders as b
from tests.judging.asked import OURS_RATE, RIVAL_RATE, judged, quotient, rate

BANDWIDTH, TIME = (
    rate().model_copy(update={"metric": metric}) for metric in (Metric.BANDWIDTH, Metric.TIME)
)


def verdict_on(claim: Claim, *, on: str | None = "h100", **records: Any) -> Verdict:
    return judged(claim, on=on, **records)[0]


class TestEquivalence:
    """A claimed figure is reproduced when the whole interval lies inside the declared margin."""

    def test_the_true_rate_is_reproduced(self) -> None:
        verdict = verdict_on(b.claim("rate", rate(), value=OURS_RATE))
        assert verdict.status is Status.REPRODUCED
        assert verdict.measured == pytest.approx(OURS_RATE, rel=0.02)
        assert verdict.ci90 is not None and verdict.ci90[0] < OURS_RATE < verdict.ci90[1]
        assert verdict.margin == 0.08
        assert verdict.unit == "tflop_per_s"

    def test_bandwidth_of_other_bytes_is_restated_by_their_formula(self) -> None:
        """A source may count one operand's bytes; the verdict says which were counted."""
        one = {"unit": Unit.GB_PER_S, "bytes": "2 * m * n"}
        once = 4096**2 * 2 / 0.06e-3 / 1e9
        verdict = verdict_on(b.claim("bw", BANDWIDTH, value=once, **one))
        assert verdict.status is Status.REPRODUCED
        assert "Bytes are counted as 2 * m * n, 0.3333 times" in verdict.explanation
        whole = verdict_on(b.claim("bw", BANDWIDTH, value=3 * once, **one))
        assert whole.status is Status.NOT_REPRODUCED

    @given(st.floats(-0.3, 0.3), st.floats(0, 0.1), st.floats(0.01, 0.2))
    @settings(deadline=None)
    def test_decision_matches_its_definition(self, centre, half, margin):
        summary = Summary(centre, centre - half, centre + half, 5, 20, 100, 0)
        status = equivalence(summary, 1.0, margin, "above").status
        edge = math.log1p(margin)
        inside = -edge <= summary.low and summary.high <= edge
        assert (status is Status.REPRODUCED) == inside
        assert (status is Status.EXCEEDED) == (summary.low > edge)
        assert (status is Status.NOT_REPRODUCED) == (summary.high < -edge)
        mirrored = equivalence(summary, 1.0, margin, "below").status
        swap = {Status.EXCEEDED: Status.NOT_REPRODUCED, Status.NOT_REPRODUCED: Status.EXCEEDED}
        assert mirrored is swap.get(status, status)


@pytest.mark.parametrize(
    ("factor", "status"),
    [
        (0.5, Status.REPRODUCED),
        (0.97, Status.REPRODUCED),
        (1.0, Status.INCONCLUSIVE),
        (1.05, Status.NOT_REPRODUCED),
    ],
)
def test_at_least_has_no_margin_and_is_never_exceeded(factor: float, status: Status) -> None:
    claim = b.claim("rate", rate(), value=OURS_RATE * factor, relation=Relation.AT_LEAST)
    verdict = verdict_on(claim)
    assert verdict.status is status
    assert verdict.margin is None
    assert verdict.relation == "at_least"


class TestRatios:
    def test_its_printed_digits_widen_the_margin(self) -> None:
        """2.6 may be 2.55; 1 may be 0.5, which is more than the margin grows by."""
        assert verdict_on(self.ratio(2.6, 0.1)).margin == pytest.approx(1.05 * 2.6 / 2.55 - 1)
        assert verdict_on(self.ratio(1.0, 1.0)).margin == pytest.approx(1.05 * 1.05 - 1)

    @staticmethod
    def ratio(value: float, resolution: float = 1e-4) -> Claim:
        given = {"unit": Unit.RATIO, "resolution": resolution}
        return b.claim("ratio", rate(over="rival"), value=value, **given)


class TestNoiseGates:
    def test_without_a_control_nothing_is_decided(self) -> None:
        duel = b.comparisons()["duel"].model_copy(update={"control": "ours"})
        record = b.with_turns(
            b.benchmark(), lambda _, turn: None if turn.arm == "control" else turn
        )
        claim = b.claim("rate", rate(), value=OURS_RATE)
        catalog = {"comparisons": {**b.comparisons(), "duel": duel}}
        verdict = verdict_on(claim, benchmarks=[record], catalog=catalog)
        assert (verdict.status, verdict.reason) == (Status.INCONCLUSIVE, "no_control")

    @pytest.mark.parametrize(
        ("record", "reason"),
        [
            (b.benchmark(processes=4), "too_few_processes"),
            (b.benchmark(processes=1), "no_usable_blocks"),
            (b.benchmark(void="thermal slowdown"), "no_usable_blocks"),
        ],
    )
    def test_too_little_decides_nothing(self, record: BenchmarkRecord, reason: str) -> None:
        verdict = verdict_on(b.claim("rate", rate(), value=OURS_RATE), benchmarks=[record])
        assert (verdict.status, verdict.reason) == (Status.INCONCLUSIVE, reason)


class TestCorrectnessGate:
    @staticmethod
    def unchecked() -> BenchmarkRecord:
        """A record of which no timed output of arm ``ours`` was checked."""
        without = {"checked": False, "relative_error": None}
        return b.with_turns(
            b.benchmark(),
            lambda _, turn: turn.model_copy(update=without) if turn.arm == "ours" else turn,
        )

    def test_times_of_which_no_output_was_checked_do_not_count(self) -> None:
        claim = b.claim("rate", rate(), value=OURS_RATE)
        verdict = verdict_on(claim, benchmarks=[self.unchecked()])
        assert verdict.status is Status.NOT_RUN

    def test_a_wrong_output_while_timing_is_caught(self) -> None:
        record = b.benchmark(relative_error=0.5)
        verdict = verdict_on(b.claim("rate", rate(), value=OURS_RATE), benchmarks=[record])
        assert verdict.status is Status.INCORRECT

    @pytest.mark.parametrize(
        ("asked", "unit", "wrong", "expected"),
        [
            (rate(), Unit.TFLOP_PER_S, ("ours",), (Status.INCORRECT, "wrong_output")),
            (rate(), Unit.TFLOP_PER_S, (), (Status.NOT_RUN, "run_failed")),
            (rate(over="rival"), Unit.RATIO, ("rival",), (Status.NOT_RUN, "run_failed")),
        ],
    )
    def test_what_was_dropped_for_a_wrong_timed_output_is_wrong(self, asked, unit, wrong, expected):
        dropped = "rival" if "rival" in wrong else "ours"
        why = {dropped: "incorrect: the output of a timed launch is wrong (relative error 0.9)"}
        record = b.benchmark().model_copy(update={"not_timed": why, "wrong": wrong})
        claim = b.claim("rate", asked, value=OURS_RATE, unit=unit)
        verdict = verdict_on(claim, benchmarks=[record])
        assert (verdict.status, verdict.reason) == expected

    def test_a_baseline_that_fails_too_is_to_blame(self) -> None:
        claim = b.claim("ratio", rate(over="rival"), value=1.0, unit=Unit.RATIO)
        wrong = b.correctness(statuses={"ours": "incorrect", "rival": "incorrect"})
        assert verdict_on(claim, checks=[wrong]).status is Status.NOT_RUN
        failed = wrong.arms[0].checks[0].model_copy(update={"name": "harness_unchanged"})
        cheating = wrong.arms[0].model_copy(update={"checks": (failed,)})
        caught = wrong.model_copy(update={"arms": (cheating, *wrong.arms[1:])})
        assert verdict_on(claim, checks=[caught]).status is Status.INCORRECT

    @pytest.mark.parametrize(
        ("changes", "words"),
        [({"binaries": {"ours": b.digest("another")}}, "SHA-256"), ({"gpu": b.OTHER_GPU}, "GPU-")],
    )
    def test_another_binary_or_gpu_is_not_vouched_for(self, changes, words):
        claim, checks = b.claim("rate", rate(), value=OURS_RATE), [b.correctness(**changes)]
        verdict = verdict_on(claim, checks=checks)
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "run_failed")
        assert words in verdict.explanation

    def test_a_failed_build_is_named(self) -> None:
        builds = [b.build("our_kernel", diagnostics="x.cu(3): error: too many registers")]
        verdict = verdict_on(b.claim("rate", rate()), benchmarks=[], checks=[], builds=builds)
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "build_failed")
        assert "too many registers" in verdict.explanation


class TestFlopFormulas:
    def test_the_count_of_example_41_is_converted(self) -> None:
        time = 0.0245
        attention = rate("attention", comparison="attend")
        record = b.benchmark({"attention": time}, comparison="attend", control="attention")
        checks = [b.correctness(("attention",), comparison="attend")]
        for formula, value in ((FlopFormula.CUTLASS_41_FULL, 27.65), (FlopFormula.NNZ, 21.91)):
            claim = b.claim("rate", attention, value=value, flop_formula=formula)
            verdict = verdict_on(claim, benchmarks=[record], checks=checks)
            assert verdict.status is Status.REPRODUCED
            wrong = b.claim("rate", attention, value=value * 1.26, flop_formula=formula)
            verdict = verdict_on(wrong, benchmarks=[record], checks=checks)
            assert verdict.status is Status.NOT_REPRODUCED

    def test_printed_rates_of_example_41_are_restated(self) -> None:
        shape = {
            "seq_length": 512, "seq_length_kv": 512, "head_size": 64, "head_size_v": 64,
            "head_number": 8, "batch_size": 1,
        }  # fmt: skip
        full = ["--causal=false"]
        own = for_program(FlopFormula.CUTLASS_41_FULL, "cutlass_41", shape, full)
        assert own.factor == 1.0
        products = for_program(FlopFormula.ATTENTION_4BHQKD, "cutlass_41", shape, full)
        assert products.factor == pytest.approx(1 / 1.2617, abs=1e-3)
        whole = for_program(FlopFormula.ATTENTION_4BHQKD, "cutlass_41", shape, [])
        assert whole.factor == pytest.approx(2 * products.factor, rel=0.01)

    def test_causal_rates_of_example_88_are_restated(self) -> None:
        shape = {"b": 1, "h": 8, "q": 512, "k": 512, "d": 64, "causal": True}
        whole = for_program(FlopFormula.ATTENTION_4BHQKD, "cutlass_88", shape, [])
        assert whole.factor == pytest.approx(2.0)
        assert for_program(FlopFormula.NNZ, "cutlass_88", shape, []).factor == 1.0


STATED = ("--b=1", "--h=8", "--q=1024", "--k=1024", "--d=64")
TYPED = ("-b", "1", "-h", "8", "-q", "1024", "-k", "1024", "-d", "64")
DEFAULT_SHAPE = (16, 16, 1024, 1024, 128)
LONG = (1, 8, 131072, 131072, 64)
PING_PONG = "tma ws ping-pong 128x64x64"


def fmha(typed: tuple[str, ...] | None = TYPED, **changes: Any) -> Program:
    shape = {"b": 1, "h": 8, "q": 1024, "k": 1024, "d": 64, "causal": False}
    stated = Invocation(arguments=STATED, shape={**shape, **changes})
    return Program(
        kind="program",
        program="ex88",
        figure="tma_ws_ping_pong_128x64x64",
        typed=typed,
        stated=stated,
    )


def runs_88(arguments, rate, shape=(1, 8, 1024, 1024, 64), **changes):
    name = f"tma ws ping-pong 128x{'128x128' if shape[4] == 128 else '64x64'}"
    outputs = [
        b.output_88({name: rate * (1 + 0.002 * run)}, shape=shape, **changes) for run in range(5)
    ]
    return b.program_record("ex88", arguments, outputs)


class TestPrograms:
    """The stated configuration decides; the command as typed is reported beside it."""

    @pytest.mark.parametrize(
        ("asked", "ran", "reason"),
        [(fmha(None), STATED, "other_shape"), (fmha(), TYPED, "run_failed")],
        ids=["the stated arguments run another problem", "the typed line ran alone"],
    )
    def test_another_run_than_the_stated_one_answers_nothing(self, asked, ran, reason):
        claim = b.claim("fmha", asked, value=600.0)
        verdict = verdict_on(claim, programs=[runs_88(ran, 600.0, DEFAULT_SHAPE)])
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, reason)
        assert verdict.measured is None

    def test_where_no_kernel_is_named_the_fastest_answers(self) -> None:
        """By its median over all runs; the others are named with theirs."""
        outputs = [
            b.output_88(
                {
                    "tma 64x128x64": 460.0 + run,
                    "tma ws cooperative 128x64x64": 900.0 if run == 0 else 360.0,
                    PING_PONG: 350.0,
                },
                shape=(1, 8, 1024, 1024, 64),
            )
            for run in range(5)
        ]
        evaluation = fmha(None).model_copy(update={"figure": "*"})
        record = b.program_record("ex88", STATED, outputs)
        verdict = verdict_on(b.claim("fmha", evaluation, value=462.0), programs=[record])
        assert verdict.status is Status.REPRODUCED
        assert "the fastest that the program printed is tma_64x128x64" in verdict.explanation
        assert "tma_ws_cooperative_128x64x64 360.0 TFLOP/s" in verdict.explanation
        assert "tma_ws_ping_pong_128x64x64 350.0 TFLOP/s" in verdict.explanation

    @pytest.mark.parametrize(
        ("mark", "status"),
        [("OK", Status.REPRODUCED), ("FAIL", Status.INCORRECT), ("--", Status.NOT_RUN)],
    )
    def test_a_statement_on_a_program_is_its_own_check(self, mark: str, status: Status) -> None:
        claim = b.claim(
            "checks", fmha(None), kind=ClaimKind.SUPPORT, value=None, unit=None, resolution=None
        )
        verdict = verdict_on(claim, programs=[runs_88(STATED, 600.0, mark=mark)])
        assert verdict.status is status
        assert verdict.claimed == "passes"

    def test_another_version_than_the_stated_one_is_named(self) -> None:
        program = b.programs()["ex88"].model_copy(update={"package": PACKAGE})
        built = b.build("ex88", kind="program")
        tool = built.toolchain.model_copy(update={"wheels": {PACKAGE: "4.2.0.0"}})
        claim = b.claim("fmha", fmha(None), value=600.0, software={"cutlass": "4.3.0 (main)"})
        catalog = replace(b.catalog([claim]), programs={"ex88": program})
        evidence = b.evidence(
            [b.measure("fmha")],
            programs=[runs_88(STATED, 600.0)],
            builds=[built.model_copy(update={"toolchain": tool})],
        )
        (verdict,) = judge(catalog, evidence).verdicts
        assert "CUTLASS 4.2.0 answered; the source states 4.3.0 (main)." in verdict.explanation

    def test_a_failed_verification_is_incorrect(self) -> None:
        verdict = self.verified(b.output_88({PING_PONG: 600.0}, mark="FAIL"), exit_code=255)
        assert (verdict.status, verdict.measured) == (Status.INCORRECT, None)

    @pytest.mark.parametrize(
        ("output", "errors", "why"),
        [
            ("", "[stopped after 300 s]\n", "exit code 0: [stopped after 300 s]"),
            (
                b.output_88({PING_PONG: 600.0}, mark="FAIL"),
                "Reference kernel failed. Last CUDA error: out of memory\n",
                "Reference kernel failed",
            ),
            (
                b.output_88({PING_PONG: 600.0}, mark="FAIL", shape=LONG),
                "",
                "its reference does not fit K=131072",
            ),
            (b.output_88({PING_PONG: 600.0}, mark="--"), "", "it prints no outcome of a check"),
        ],
    )
    def test_a_verification_that_could_not_be_made_says_so(self, output, errors, why):
        """The program's reference has limits of its own, which are no fault of the kernel."""
        verdict = self.verified(output, errors)
        assert verdict.status is Status.REPRODUCED
        assert (
            f"We asked the program to check its output once; it could not ({why}"
            in verdict.explanation
        )

    def verified(self, output: str, errors: str = "", exit_code: int = 0) -> Verdict:
        run = VerificationRun(
            arguments=(*STATED, "--verify"),
            exit_code=exit_code,
            seconds=1.0,
            stdout=output,
            stderr=errors,
        )
        record = runs_88(STATED, 600.0, mark="--").model_copy(update={"verification": run})
        return verdict_on(b.claim("fmha", fmha(None), value=600.0), programs=[record])

    @pytest.mark.parametrize("output", ["out of memory", b.output_88({PING_PONG: 600.0})])
    def test_a_crash_is_run_failed(self, output: str) -> None:
        record = b.program_record("ex88", STATED, [output] * 5, exit_code=1)
        verdict = verdict_on(b.claim("fmha", fmha(None)), programs=[record])
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "run_failed")

    def test_a_printed_rate_above_the_peak_is_broken(self) -> None:
        claim = b.claim("fmha", fmha(None), value=1200.0)
        verdict = verdict_on(claim, programs=[runs_88(STATED, 1200.0)])
        assert verdict.reason == "below_roofline_bound"
        verdict = verdict_on(claim, programs=[runs_88(STATED, 600.0)])
        assert "beyond the roofline bound" in verdict.explanation

    def test_no_build_for_the_targets_architecture(self) -> None:
        verdict = verdict_on(b.claim("fmha", fmha(None)), on="l4")
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "unsupported_arch")

    def test_gigaflops_and_milliseconds_of_example_41(self) -> None:
        outputs = [b.output_41(27631.6, 0.0245)] * 5
        record = b.program_record("ex41", ("--causal=false",), outputs)
        stated = Invocation(arguments=("--causal=false",), shape={"seq_length": 512})
        for figure, value, unit in (("gflop_per_s", 27.6, Unit.TFLOP_PER_S), ("ms", 24.5, Unit.US)):
            evaluation = Program(
                kind="program", program="ex41", figure=figure, typed=None, stated=stated
            )
            formula = FlopFormula.CUTLASS_41_FULL if unit is Unit.TFLOP_PER_S else None
            claim = b.claim("fmha", evaluation, value=value, unit=unit, flop_formula=formula)
            verdict = verdict_on(claim, programs=[record])
            assert verdict.status is Status.REPRODUCED
            assert verdict.measured == pytest.approx(value, rel=0.002)
            done_tflop_per_s = 4 * 8 * 512 * 512 * 64 / 0.0245e-3 / 1e12
            assert verdict.roofline_fraction == pytest.approx(done_tflop_per_s / 989.4, rel=0.01)

    def test_a_claim_in_the_wrong_dimension_is_refused(self) -> None:
        claim = b.claim("fmha", fmha(None), value=1.0, unit=Unit.MS)
        with pytest.raises(BadInput, match="claimed in ms, measured in tflop_per_s"):
            verdict_on(claim, programs=[runs_88(STATED, 600.0)])


class TestDerived:
    def claims(self, value: float) -> list[Claim]:
        return [
            b.claim("gap", quotient(), value=value, unit=Unit.RATIO, kind=ClaimKind.RATIO),
            b.claim("top", rate("rival"), value=RIVAL_RATE),
            b.claim("bottom", rate(), value=OURS_RATE),
        ]

    def test_sides_of_different_dimensions_are_refused(self) -> None:
        claims = self.claims(1.2)
        claims[2] = b.claim("bottom", TIME, value=0.06, unit=Unit.MS)
        with pytest.raises(BadInput, match="is measured in"):
            judged(*claims)


def support(probe: str, arch: str, expect: Any) -> Claim:
    evaluation = Support(kind="support", probe=probe, arch=arch, expect=expect)
    nothing = {"value": None, "unit": None, "resolution": None}
    return b.claim(probe, evaluation, kind=ClaimKind.SUPPORT, **nothing)


class TestWithoutGpu:
    def test_arithmetic_claims_and_audits(self) -> None:
        total = Arithmetic(
            kind="arithmetic",
            formula=Formula.MEAN,
            operands=(
                Operand(value=2.0, resolution=0.0, what="a"),
                Operand(value=4.0, resolution=0.0, what="b"),
            ),
        )
        claims = [
            b.claim("good", total, value=3.0, kind=ClaimKind.STATISTIC),
            b.claim("bad", total, value=9.0, kind=ClaimKind.STATISTIC),
        ]
        order = Audit(
            id="order",
            statement="good is above bad",
            place=SourcePlace(section="Results", line=1),
            claimed=None,
            formula=Formula.GREATER,
            operands=(Operand(claim="good"), Operand(claim="bad")),
        )
        answers = [b.measure(name, None) for name in ("good", "bad", "order")]
        verdicts = judge(b.catalog(claims, [order]), b.evidence(answers)).verdicts
        assert [v.status for v in verdicts] == [
            Status.CONSISTENT,
            Status.INCONSISTENT,
            Status.INCONSISTENT,
        ]
        assert {v.artifact for v in verdicts} == {"arithmetic"}
        assert verdicts[0].measured == 3.0 and verdicts[0].ci90 is None
        assert verdicts[0].evidence == ("evidence/config/claims/paper.yaml",)

    @pytest.mark.parametrize(
        ("expect", "diagnostics", "status"),
        [
            ("builds", "", Status.REPRODUCED),
            ("fails", "", Status.NOT_REPRODUCED),
            ("fails", "ptxas error : not supported", Status.REPRODUCED),
            ("builds", "ptxas error : not supported", Status.NOT_REPRODUCED),
        ],
    )
    def test_support(self, expect: Any, diagnostics: str, status: Status) -> None:
        claim = support("probe_tma", "sm_89", expect)
        builds = [b.build("probe_tma", "sm_89", kind="probe", diagnostics=diagnostics)]
        verdict = verdict_on(claim, on=None, builds=builds)
        assert verdict.status is status
        assert verdict.claimed == expect
        assert verdict.measured == ("fails" if diagnostics else "builds")
        assert ("not supported" in verdict.explanation) == bool(diagnostics)

    @pytest.mark.parametrize(
        ("matches", "status"),
        [(0, Status.NOT_REPRODUCED), (2, Status.REPRODUCED), (None, Status.NOT_RUN)],
    )
    def test_an_inspection_counts_a_text(self, matches: int | None, status: Status) -> None:
        evaluation = Inspection(
            kind="inspection", package="pkg", path="src", quantity="matches", text="tma"
        )
        at_least = {"resolution": 0.0, "relation": Relation.AT_LEAST}
        claim = b.claim("text", evaluation, value=1.0, unit=Unit.COUNT, **at_least)
        counted = b.inspection("text", 9, 99)
        if matches is not None:
            counted = counted.model_copy(
                update={"package": "pkg", "path": "src", "text": "tma", "matches": matches}
            )
        verdict = verdict_on(claim, on=None, inspections=[counted])
        assert verdict.status is status
        if matches is not None:
            places = "1 place" if matches == 1 else f"{matches} places"
            assert f"'tma' in {places}; the source says at least 1." in verdict.explanation

    def test_a_program_that_compiles_says_whether_it_ran_there(self) -> None:
        """A build says nothing of a run; a run on that architecture does."""
        claim = support("ex88", "sm_90a", "builds")
        build = b.build("ex88", "sm_90a", kind="program")
        runs = b.program_record("ex88", ("--q=1",), [b.output_88({"tma": 600.0})] * 5)
        ran = verdict_on(claim, on=None, builds=[build], programs=[runs])
        assert "run too: on NVIDIA H100 5 of 5 runs ended without an error." in ran.explanation
        alone = verdict_on(claim, on=None, builds=[build])
        assert "Nothing of it ran on a GPU of sm_90a for this." in alone.explanation

    def test_what_was_not_recorded_is_said_to_be(self) -> None:
        claim = support("probe_tma", "sm_89", "fails")
        verdict = verdict_on(claim, on=None)
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "not_recorded")

    @pytest.mark.parametrize("diagnostics", ["", "ptxas error : not supported"])
    def test_a_build_of_the_report_that_figures_come_from_answers_too(self, diagnostics):
        claim = support("ex41", "sm_89", "builds")
        build = b.build("ex41", "sm_89", kind="program", diagnostics=diagnostics)
        path = "h100/origin/builds/sm_89/ex41.json"
        came = RecordedBuild(build, path, "reports/published/x")
        found = replace(
            b.evidence([b.measure("ex41", None)]), recorded_builds={("ex41", "sm_89"): came}
        )
        (verdict,) = judge(b.catalog([claim]), found).verdicts
        assert verdict.status is (Status.NOT_REPRODUCED if diagnostics else Status.REPRODUCED)
        assert verdict.evidence == (f"evidence/{path}",)

    def test_what_is_left_uncompiled_is_said_with_who_compiles_it(self) -> None:
        claim = support("ex41", "sm_89", "builds")
        found = b.evidence([b.measure("ex41", None)])
        job = BuildJob(kind="program", id="ex41", arch="sm_89")
        found = replace(found, plan=found.plan.model_copy(update={"not_compiled": (job,)}))
        (verdict,) = judge(b.catalog([claim]), found).verdicts
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "not_recorded")
        assert "./assay reproduce --rebuild compiles it" in verdict.explanation


def test_an_unanswerable_claim_shows_what_its_author_listed() -> None:
    quantity = Quantity(metric=Metric.RATE, term=Term(comparison="duel", arm="rival"))
    evaluation = Unanswerable(
        kind="unanswerable",
        reason=NotRun.CONFIGURATION_MISSING,
        detail="No configuration is given.",
        nearest=("ours", quantity, "never", "ex41"),
    )
    claims = [
        b.claim("sglang", evaluation, value=40.0, kind=ClaimKind.COMPARATOR),
        b.claim("ours", rate(), value=OURS_RATE),
        b.claim("never", b.unanswerable()),
        support("ex41", "sm_90a", "builds"),
    ]
    answers = [b.measure("sglang", None)]
    evidence = b.evidence(answers, benchmarks=[b.benchmark()], checks=[b.correctness()])
    verdict = judge(b.catalog(claims), evidence).verdicts[0]
    assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "configuration_missing")
    assert verdict.explanation == "No configuration is given."
    assert [entry.what for entry in verdict.nearest] == [
        "ours",
        "rate of rival in duel",
        "never",
        "ex41: ex41 was not compiled for sm_90a",
    ]
    unmeasured = [entry.measured is None for entry in verdict.nearest]
    assert unmeasured == [False, False, True, True]


class TestVerdicts:
    """The facts that every verdict carries, whatever its status."""

    def test_names_its_evidence_and_its_machine(self) -> None:
        builds = [b.build("our_kernel", content="our binary")]
        verdict = verdict_on(b.claim("rate", rate(), value=OURS_RATE), builds=builds)
        assert verdict.evidence == (
            "evidence/h100/benchmark/duel.json.gz",
            "evidence/h100/correctness/duel.json",
            "evidence/builds/sm_90a/our_kernel.json",
            "evidence/h100/platform.json",
        )
        assert verdict.gpu_uuid == b.GPU
        assert verdict.binary_sha256 == b.digest("our binary")
        assert verdict.measured_on is not None and verdict.measured_on.in_this_run
        assert verdict.samples == 5 * 4 * 2 * 3
        assert verdict.discarded_blocks == 0
        assert verdict.ran is not None and "128x128 blocks, 8 a row" in verdict.ran

    @pytest.mark.parametrize(
        ("then", "now", "words"),
        [
            ("a" * 64, "a" * 64, ""),
            ("a" * 64, "b" * 64, "so has its machine code"),
            (None, "a" * 64, "machine codes were not compared"),
        ],
    )
    def test_recorded_figures_of_an_earlier_source_name_it(self, then, now, words):
        measured = b.build("our_kernel", content="our binary")
        compiled = b.build("our_kernel", content="new").model_copy(update={"code_sha256": now})
        found = b.evidence(
            [b.measure("rate")],
            benchmarks=[b.benchmark()],
            checks=[b.correctness()],
            builds=[compiled],
            kinds={"h100": "recorded"},
        )
        (plan,) = (entry for entry in found.plan.targets if entry.target == "h100")
        old = plan.provision.model_copy(update={"earlier_sources": {"our_kernel": "c" * 40}})
        targets = (plan.model_copy(update={"provision": old}),)
        was = measured.model_copy(update={"code_sha256": then})
        found = replace(
            found,
            plan=found.plan.model_copy(update={"targets": targets}),
            target_builds={"h100": {("our_kernel", "sm_90a"): was}},
        )
        claim = b.claim("rate", rate(), value=OURS_RATE)
        told = judge(b.catalog([claim]), found).verdicts[0].explanation
        assert words in told
        assert (f"compiled at commit {'c' * 12}." in told) is bool(words)

    def test_an_answer_to_no_claim_is_refused(self) -> None:
        with pytest.raises(BadInput, match="no claim of this catalog"):
            judge(b.catalog(), b.evidence([b.measure("ghost")]))

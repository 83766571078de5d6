"""What a signer may forge, and which two records then contradict each other.

Each test forges a run's records, judges and signs them anew with the trusted key, and asserts the
code of the refusal; what a liar who thinks of everything can still do stands at the end.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record, write_record
from assay.evidence.stages import (
    BENCHMARKS,
    benchmark_path,
    cheats_path,
    correctness_path,
    plan_path,
    platform_path,
    sanitizer_path,
    stopwatch_path,
)
from assay.records.base import Record
from assay.records.measurements import BenchmarkRecord, Block, CorrectnessRecord, Process, Turn
from assay.records.plan import Plan
from assay.records.platform import PlatformRecord
from assay.records.stopwatch import StopwatchRecord
from assay.report.render import render
from assay.shared.schedule import CONTROL
from assay.verification.sign import public_key_path, sign
from assay.verification.verify import VerificationResult, verify
from tests.report_fixtures import write_repository, write_run, write_verdicts

BENCHMARK = benchmark_path("h100", "demo_sweep")
CORRECTNESS = correctness_path("h100", "demo_sweep")
PLATFORM = platform_path("h100")
STOPWATCH = stopwatch_path("h100", "demo_sweep")

Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a finished run, made once; tests work on copies."""
    base = tmp_path_factory.mktemp("made")
    write_run(write_repository(base / "repo"))
    return base


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "base")) / "repo" / "results" / "demo_run"


def signed(run: Path) -> VerificationResult:
    """Judge the run as it stands, sign its report, verify that."""
    root = run.parents[1]
    write_verdicts(root, run)
    report = root / "reports" / run.name
    render(root, run, report)
    sign(report, root.parent / "key")
    return verify(report, [public_key_path(root.parent / "key")])


def refusal(run: Path) -> str:
    """The code with which the signed report is refused."""
    with pytest.raises(CheckFailed) as raised:
        signed(run)
    return raised.value.code


def forge(run: Path, kind: type[Record], path: str, change: Change) -> None:
    """Change one record."""
    write_record(change(read_record(kind, run / path)), run / path)


def each_process(change: Callable[[Process], Process]) -> Change:
    def changed(record: BenchmarkRecord) -> BenchmarkRecord:
        processes = tuple(change(process) for process in record.processes)
        return record.model_copy(update={"processes": processes})

    return changed


def each_block(change: Callable[[Block], Block]) -> Change:
    def changed(process: Process) -> Process:
        return process.model_copy(update={"blocks": tuple(map(change, process.blocks))})

    return each_process(changed)


def each_turn(change: Callable[[Turn], Turn]) -> Change:
    def changed(block: Block) -> Block:
        return block.model_copy(update={"turns": tuple(map(change, block.turns))})

    return each_block(changed)


def scaled(factor: float) -> Callable[[Turn], Turn]:
    def changed(turn: Turn) -> Turn:
        times = tuple(round(ms * factor, 6) for ms in turn.times_ms)
        return turn.model_copy(update={"times_ms": times})

    return changed


def test_an_honest_run_verifies(run: Path) -> None:
    result = signed(run)
    assert result.passed
    assert "when the steps ran that measured: no timings were kept" in result.unproven


class TestSamples:
    """A time is told several times over."""

    def test_scaled_samples(self, run: Path) -> None:
        forge(run, BenchmarkRecord, BENCHMARK, each_turn(scaled(0.41)))
        assert refusal(run) == "gpu-seconds"

    def test_scaled_samples_with_their_sum(self, run: Path) -> None:
        def consistent(process: Process) -> Process:
            timed = sum(ms for b in process.blocks for t in b.turns for ms in t.times_ms) / 1e3
            return process.model_copy(update={"gpu_seconds": process.gpu_seconds - 0.59 * timed})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(consistent))
        forge(run, BenchmarkRecord, BENCHMARK, each_turn(scaled(0.41)))
        assert refusal(run) == "stopwatch"

    def test_times_below_the_roofline(self, run: Path) -> None:
        def consistent(process: Process) -> Process:
            timed = sum(ms for b in process.blocks for t in b.turns for ms in t.times_ms) / 1e3
            return process.model_copy(update={"gpu_seconds": process.gpu_seconds - 0.9 * timed})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(consistent))
        forge(run, BenchmarkRecord, BENCHMARK, each_turn(scaled(0.1)))
        assert refusal(run) == "below-floor"

    def test_swapped_arms(self, run: Path) -> None:
        names = {"bk32": "bk96", "bk96": "bk32"}

        def swapped(turn: Turn) -> Turn:
            return turn.model_copy(update={"arm": names.get(turn.arm, turn.arm)})

        forge(run, BenchmarkRecord, BENCHMARK, each_turn(swapped))
        assert refusal(run) == "turn-order"

    def test_a_process_cloned(self, run: Path) -> None:
        def cloned(record: BenchmarkRecord) -> BenchmarkRecord:
            first = record.processes[0]
            copies = tuple(first.model_copy(update={"index": n}) for n in range(5))
            return record.model_copy(update={"processes": copies})

        forge(run, BenchmarkRecord, BENCHMARK, cloned)
        assert refusal(run) == "turn-order"

    def test_a_process_cloned_into_the_order_of_another(self, run: Path) -> None:
        """The same samples, dealt out in the order in which the other's turns must be."""

        def cloned(record: BenchmarkRecord) -> BenchmarkRecord:
            first, second, *rest = record.processes
            left: dict[str, list[tuple[float, ...]]] = {}
            for turn in (turn for block in first.blocks for turn in block.turns):
                left.setdefault(turn.arm, []).append(turn.times_ms)
            blocks = tuple(
                block.model_copy(update={"turns": tuple(
                    turn.model_copy(update={"times_ms": left[turn.arm].pop()})
                    for turn in block.turns
                )})
                for block in second.blocks
            )  # fmt: skip
            copy = second.model_copy(update={"blocks": blocks, "gpu_seconds": first.gpu_seconds})
            return record.model_copy(update={"processes": (first, copy, *rest)})

        forge(run, BenchmarkRecord, BENCHMARK, cloned)
        assert refusal(run) == "repeated"

    def test_a_slow_block_void_at_will(self, run: Path) -> None:
        def voided(block: Block) -> Block:
            return block.model_copy(update={"void": "hardware power brake"})

        forge(run, BenchmarkRecord, BENCHMARK, each_block(voided))
        assert refusal(run) == "void"

    def test_a_void_block_that_counts(self, run: Path) -> None:
        def counted(block: Block) -> Block:
            return block.model_copy(update={"void": None})

        forge(run, BenchmarkRecord, BENCHMARK, each_block(counted))
        assert refusal(run) == "void"

    def test_turns_outside_their_telemetry(self, run: Path) -> None:
        def late(turn: Turn) -> Turn:
            times = {"started_s": turn.started_s + 9, "ended_s": turn.ended_s + 9}
            return turn.model_copy(update=times)

        forge(run, BenchmarkRecord, BENCHMARK, each_turn(late))
        assert refusal(run) == "windows"


class TestProtocol:
    """What was run is what the comparison's protocol says."""

    def test_the_mirrored_half_of_every_block_removed(self, run: Path) -> None:
        def halved(block: Block) -> Block:
            return block.model_copy(update={"turns": block.turns[: len(block.turns) // 2]})

        forge(run, BenchmarkRecord, BENCHMARK, each_block(halved))
        assert refusal(run) == "turn-order"

    def test_an_unwelcome_block_removed(self, run: Path) -> None:
        def shorter(process: Process) -> Process:
            return process.model_copy(update={"blocks": process.blocks[1:]})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(shorter))
        assert refusal(run) == "blocks"

    def test_an_unwelcome_process_removed(self, run: Path) -> None:
        def fewer(record: BenchmarkRecord) -> BenchmarkRecord:
            return record.model_copy(update={"processes": record.processes[:-1]})

        forge(run, BenchmarkRecord, BENCHMARK, fewer)
        assert refusal(run) == "processes"

    def test_the_slowest_samples_of_each_turn_removed(self, run: Path) -> None:
        def trimmed(turn: Turn) -> Turn:
            return turn.model_copy(update={"times_ms": tuple(sorted(turn.times_ms)[:-1])})

        forge(run, BenchmarkRecord, BENCHMARK, each_turn(trimmed))
        assert refusal(run) == "samples"

    def test_another_protocol_named(self, run: Path) -> None:
        def named(record: BenchmarkRecord) -> BenchmarkRecord:
            return record.model_copy(update={"protocol": "quick"})

        for root in (run.parents[1], run):
            path = root / "config" / "protocols.yaml"
            first = path.read_text().split("protocols:\n")[1]
            path.write_text(path.read_text() + first.replace("standard", "quick"))
        forge(run, BenchmarkRecord, BENCHMARK, named)
        assert refusal(run) == "protocol"

    def test_a_check_that_was_never_planned(self, run: Path) -> None:
        def unchecked(turn: Turn) -> Turn:
            return turn.model_copy(update={"checked": True, "relative_error": 1e-4})

        forge(run, BenchmarkRecord, BENCHMARK, each_turn(unchecked))
        assert refusal(run) == "turn-order"


class TestProblem:
    """What a launch does follows from its workload."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [("flop", 2 * 34_359_738_368), ("bytes", 1000), ("stored_blocks", 512), ("density", 0.5)],
    )
    def test_other_facts(self, run: Path, name: str, value: float) -> None:
        def changed(process: Process) -> Process:
            arms = tuple(arm.model_copy(update={name: value}) for arm in process.arms)
            return process.model_copy(update={"arms": arms})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(changed))
        assert refusal(run) == "arm-facts"

    def test_a_binary_that_nothing_built(self, run: Path) -> None:
        digest = "ab" * 32

        def timed(process: Process) -> Process:
            arms = tuple(arm.model_copy(update={"binary_sha256": digest}) for arm in process.arms)
            return process.model_copy(update={"arms": arms})

        def checked(record: CorrectnessRecord) -> CorrectnessRecord:
            arms = tuple(arm.model_copy(update={"binary_sha256": digest}) for arm in record.arms)
            return record.model_copy(update={"arms": arms})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(timed))
        forge(run, CorrectnessRecord, CORRECTNESS, checked)
        assert refusal(run) == "binary"


class TestGate:
    """Correct is what passed every check that the gate makes."""

    def forge_checks(self, run: Path, change: Callable[[tuple[Any, ...]], Any]) -> None:
        def changed(record: CorrectnessRecord) -> CorrectnessRecord:
            arms = tuple(
                arm.model_copy(update={"checks": tuple(change(arm.checks))}) for arm in record.arms
            )
            return record.model_copy(update={"arms": arms})

        forge(run, CorrectnessRecord, CORRECTNESS, changed)

    def test_all_checks_replaced_by_an_invented_one(self, run: Path) -> None:
        self.forge_checks(run, lambda checks: [checks[0].model_copy(update={"name": "fine"})])
        assert refusal(run) == "gate-checks"

    def test_a_check_left_out(self, run: Path) -> None:
        self.forge_checks(run, lambda checks: [c for c in checks if c.name != "ragged"])
        assert refusal(run) == "gate-checks"

    def test_one_seed_left_out(self, run: Path) -> None:
        self.forge_checks(run, lambda checks: [c for c in checks if c.seed != 2])
        assert refusal(run) == "gate-checks"

    def test_a_check_that_passed_with_a_wrong_output(self, run: Path) -> None:
        self.forge_checks(run, lambda checks: [
            c.model_copy(update={"relative_error": 0.5 if c.relative_error else None})
            for c in checks
        ])  # fmt: skip
        assert refusal(run) == "gate-checks"

    def test_an_arm_left_out(self, run: Path) -> None:
        def fewer(record: CorrectnessRecord) -> CorrectnessRecord:
            return record.model_copy(update={"arms": record.arms[1:]})

        forge(run, CorrectnessRecord, CORRECTNESS, fewer)
        assert refusal(run) == "gate-arms"


class TestMachine:
    """A figure is of the GPU that it is filed under."""

    def forge_gpu(self, run: Path, **fields: object) -> None:
        def changed(record: PlatformRecord) -> PlatformRecord:
            gpu = record.device.gpu.model_copy(update=fields)
            device = record.device.model_copy(update={"gpu": gpu})
            return record.model_copy(update={"device": device})

        forge(run, PlatformRecord, PLATFORM, changed)

    @pytest.mark.parametrize("product", ["GeForce GT 710", "NVIDIA H200"])
    def test_another_product(self, run: Path, product: str) -> None:
        self.forge_gpu(run, product=product)
        assert refusal(run) == "gpu-product"

    @pytest.mark.parametrize("fields", [{"compute_capability": "8.9"}, {"multiprocessors": 114}])
    def test_another_architecture(self, run: Path, fields: dict[str, object]) -> None:
        self.forge_gpu(run, **fields)
        assert refusal(run) == "gpu-architecture"

    def test_another_card(self, run: Path) -> None:
        self.forge_gpu(run, uuid="GPU-11111111-1111-2222-3333-444444444444")
        assert refusal(run) == "gpu-uuid"

    def test_a_slice_of_a_card(self, run: Path) -> None:
        self.forge_gpu(run, mig=True)
        assert refusal(run) == "gpu-product"

    def test_no_platform_record(self, run: Path) -> None:
        (run / PLATFORM).unlink()
        assert refusal(run) == "platform-missing"

    def test_a_record_of_another_target(self, run: Path) -> None:
        forge(run, BenchmarkRecord, BENCHMARK, lambda r: r.model_copy(update={"target": "h200"}))
        assert refusal(run) == "misfiled"


class TestCompleteness:
    """Nothing that was asked for is left out."""

    def test_unwelcome_claims_deleted_from_the_plan(self, run: Path) -> None:
        def fewer(plan: Plan) -> Plan:
            return plan.model_copy(update={"answers": plan.answers[2:]})

        forge(run, Plan, plan_path(), fewer)
        assert refusal(run) == "claims-left-out"

    def test_a_claim_that_is_said_not_to_run(self, run: Path) -> None:
        def refused(plan: Plan) -> Plan:
            answers = tuple(
                a.model_copy(update={"way": "not_run", "detail": "No such GPU."})
                if a.way == "measure" else a
                for a in plan.answers
            )  # fmt: skip
            return plan.model_copy(update={"answers": answers})

        forge(run, Plan, plan_path(), refused)
        assert refusal(run) == "answers"

    @pytest.mark.parametrize(
        "path", [cheats_path("h100"), sanitizer_path("h100"), STOPWATCH], ids=["c", "s", "w"]
    )
    def test_a_missing_guard_is_named(self, run: Path, path: str) -> None:
        (run / path).unlink()
        with pytest.raises(CheckFailed, match=path) as raised:
            signed(run)
        assert raised.value.code == "guard-missing"

    @pytest.mark.parametrize(
        ("name", "nothing"), [("cheats", False), ("sanitized", ()), ("stopwatches", ())]
    )
    def test_a_guard_that_the_plan_does_not_call_for(
        self, run: Path, name: str, nothing: object
    ) -> None:
        def without(plan: Plan) -> Plan:
            targets = tuple(t.model_copy(update={name: nothing}) for t in plan.targets)
            return plan.model_copy(update={"targets": targets})

        forge(run, Plan, plan_path(), without)
        assert refusal(run) == "guard-not-planned"

    def test_an_unwelcome_measurement_deleted(self, run: Path) -> None:
        (run / BENCHMARK).unlink()
        assert BENCHMARKS.path("h100", "demo_sweep") == BENCHMARK
        assert refusal(run) == "record-missing"


class TestAConsistentLiar:
    """What no two records contradict still verifies: only measuring again could tell."""

    def test_samples_scaled_with_all_that_tells_of_them_still_verify(self, run: Path) -> None:
        """As docs/trust.md says: sums and other stopwatches are scaled along, above the floor."""

        def consistent(process: Process) -> Process:
            timed = sum(ms for b in process.blocks for t in b.turns for ms in t.times_ms) / 1e3
            return process.model_copy(update={"gpu_seconds": process.gpu_seconds - 0.2 * timed})

        def beside(record: StopwatchRecord) -> StopwatchRecord:
            names = ("events_median_ms", "nvbench_cold_ms")
            arms = tuple(
                arm.model_copy(update={name: getattr(arm, name) * 0.8 for name in names})
                for arm in record.arms
            )
            return record.model_copy(update={"arms": arms})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(consistent))
        forge(run, BenchmarkRecord, BENCHMARK, each_turn(scaled(0.8)))
        forge(run, StopwatchRecord, STOPWATCH, beside)
        assert signed(run).passed

    def test_a_single_slow_arm_made_faster_within_what_stopwatches_allow_still_verifies(
        self, run: Path
    ) -> None:
        def faster(turn: Turn) -> Turn:
            return scaled(0.95)(turn) if turn.arm in ("bk32", CONTROL) else turn

        def consistent(process: Process) -> Process:
            turns = [t for b in process.blocks for t in b.turns if t.arm in ("bk32", CONTROL)]
            timed = sum(ms for turn in turns for ms in turn.times_ms) / 1e3
            return process.model_copy(update={"gpu_seconds": process.gpu_seconds - 0.05 * timed})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(consistent))
        forge(run, BenchmarkRecord, BENCHMARK, each_turn(faster))
        assert signed(run).passed

    def test_blocks_void_for_somebody_else_still_verify(self, run: Path) -> None:
        """No record holds what other processes did; the result says that this is unproven."""

        def voided(process: Process) -> Process:
            last = process.blocks[-1].model_copy(update={"void": "another process used the GPU"})
            return process.model_copy(update={"blocks": (*process.blocks[:-1], last)})

        forge(run, BenchmarkRecord, BENCHMARK, each_process(voided))
        result = signed(run)
        assert "that somebody else used the GPU where blocks are void for it" in result.unproven

"""Timings of steps: kept, collected, added up and shown."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.evidence.load import load_evidence
from assay.evidence.stages import planned_steps
from assay.evidence.timings import collect_timings, timing_path, write_timing
from assay.findings.step_timings import (
    GpuWork,
    gpu_seconds,
    gpu_work,
    own_work,
    stage_totals,
    step_name,
    timeline,
    total_work,
)
from assay.pipeline import steps as steps_module
from assay.records.measurements import Wall
from assay.records.plan import Plan
from assay.records.timings import Stage, StepTiming
from assay.report.render import render
from tests.report.test_render import Page
from tests.report_fixtures import write_repository, write_run

ZERO = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SECONDS = {Stage.PLAN: 0.5, Stage.BUILD: 10.0, Stage.BENCHMARK: 100.0, Stage.PROFILE: 7.5}


def step(stage: Stage, start: float, seconds: float, **arguments: str) -> StepTiming:
    at = (ZERO + timedelta(seconds=start)).isoformat(timespec="milliseconds")
    return StepTiming(
        stage=stage, arguments=arguments, started=at.replace("+00:00", "Z"), seconds=seconds
    )


def keep_timings(run_dir: Path) -> list[StepTiming]:
    """A timing for every step of the run's plan, one after the other.

    The fixture's samples are of the moment ZERO: that is when the benchmark begins.
    """
    plan = read_record(Plan, run_dir / "plan.json")
    order = list(Stage)
    planned = sorted(planned_steps(plan), key=lambda s: (order.index(s[0]), sorted(s[1].items())))
    before = [stage for stage, _ in planned if order.index(stage) < order.index(Stage.BENCHMARK)]
    at = ZERO - timedelta(seconds=sum(SECONDS.get(stage, 2.0) + 1 for stage in before))
    for stage, arguments in planned:
        seconds = SECONDS.get(stage, 2.0)
        write_timing(run_dir, stage.value, arguments, at, seconds)
        at += timedelta(seconds=seconds + 1)
    return list(collect_timings(run_dir, plan).steps)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A finished run, measured here, of which every timing was kept."""
    made = write_run(write_repository(tmp_path / "repo"))
    keep_timings(made)
    return made


class TestWhatAStepLeaves:
    """run_step keeps a typed timing for each step that ended well."""

    @pytest.fixture
    def workplace(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        class FakeSteps:
            held: ClassVar = {"GPU-1": 0.25}
            job = None

            def end_job(self, error: Exception | None) -> None: ...

            def __init__(self, root: Path, request: str | None) -> None: ...

            def build(self, artifact: str, arch: str) -> None:
                if artifact == "bad":
                    raise BadInput("no such artifact")

        monkeypatch.setattr(steps_module, "Steps", FakeSteps)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_a_timing_names_stage_wildcards_start_and_length(self, workplace: Path) -> None:
        before = datetime.now(UTC)
        arguments = {"arch": "sm_90a", "artifact": "demo"}
        steps_module.run_step(workplace, "build", arguments, run_dir="results/r", log="build.log")
        path = workplace / "results" / "r" / "timings" / "build.sm_90a.demo.json"
        timing = read_record(StepTiming, path)
        assert (timing.stage, timing.arguments) == (Stage.BUILD, arguments)
        assert 0 <= timing.seconds < 5
        assert timing.gpus == {"GPU-1": 0.25}
        started = datetime.fromisoformat(timing.started)
        assert abs((started - before).total_seconds()) < 5

    def test_a_step_that_failed_leaves_none(self, workplace: Path) -> None:
        with pytest.raises(SystemExit):
            arguments = {"arch": "sm_90a", "artifact": "bad"}
            steps_module.run_step(workplace, "build", arguments, run_dir="results/r", log="log")
        assert not (workplace / "results" / "r" / "timings").exists()


class TestThePlansSteps:
    """The timings collected are those of the steps that the workflow would run for this plan."""

    def test_what_another_plan_left_is_not_collected(self, run_dir: Path) -> None:
        plan = read_record(Plan, run_dir / "plan.json")
        kept = collect_timings(run_dir, plan)
        gone = {"arch": "sm_90a", "artifact": "removed_since"}
        write_timing(run_dir, "build", gone, ZERO, 99.0)
        write_timing(run_dir, "report", {}, ZERO, 99.0)
        (run_dir / timing_path("inspect", {})).write_text('{"step": "inspect", "seconds": 1}')
        collected = collect_timings(run_dir, plan)
        assert list(collected.steps) == [s for s in kept.steps if s.stage is not Stage.INSPECT]


class TestAddingUp:
    """Totals by stage, and all steps on one axis."""

    def test_totals_follow_the_flow_and_name_the_longest(self) -> None:
        totals = stage_totals(
            [
                step(Stage.JUDGE, 60, 3.0),
                step(Stage.BUILD, 0, 10.0, arch="sm_90a", artifact="a"),
                step(Stage.BUILD, 0, 12.5, arch="sm_90a", artifact="b"),
            ]
        )
        assert [(t.stage, t.steps, t.seconds) for t in totals] == [
            (Stage.BUILD, 2, 22.5), (Stage.JUDGE, 1, 3.0),
        ]  # fmt: skip
        assert step_name(totals[0].longest) == "b sm_90a"

    def test_steps_side_by_side_lie_in_lanes_that_are_used_again(self) -> None:
        axis = timeline(
            [
                step(Stage.BUILD, 0, 10, artifact="a"),
                step(Stage.BUILD, 1, 3, artifact="b"),
                step(Stage.BUILD, 5, 4, artifact="c"),
                step(Stage.INSPECT, 1, 2),
            ]
        )
        lanes = {
            step_name(span.step): span.lane
            for stage, spans in axis.stages
            for span in spans
            if stage is Stage.BUILD
        }
        assert lanes == {"a": 0, "b": 1, "c": 1}
        assert axis.length == 10
        assert axis.cuts == ()

    def test_a_long_pause_is_cut_and_a_short_one_is_not(self) -> None:
        axis = timeline(
            [step(Stage.PLAN, 0, 2), step(Stage.INSPECT, 20, 5), step(Stage.JUDGE, 4000, 6)]
        )
        assert axis.cuts == (25.0,)
        assert axis.length == 31.0
        assert [span.start for _, spans in axis.stages for span in spans] == [0.0, 20.0, 25.0]

    def test_gpu_work_is_held_against_the_step_that_did_it(self, run_dir: Path) -> None:
        evidence = load_evidence(run_dir)
        steps = collect_timings(run_dir, evidence.plan).steps
        work = gpu_work(evidence, steps)
        record = evidence.benchmarks["h100", "demo_sweep"]
        assert set(work) == {"h100"}
        assert work["h100"].wall_s == 100.0
        launches = sum(process.gpu_seconds for process in record.processes)
        assert work["h100"].timed_s == pytest.approx(launches)
        phases = sum(process.wall.gpu_work for process in record.processes if process.wall)
        assert work["h100"].work_s == pytest.approx(phases)
        total = total_work([GpuWork(30.0, 20.0, 40.0), GpuWork(10.0, 5.0, 60.0)])
        assert total is not None
        assert (total.share, total.timed_share) == (0.4, 0.25)

    def test_gpu_work_is_what_the_phases_say_where_a_record_has_them(self, run_dir: Path) -> None:
        phases = dict.fromkeys(Wall.model_fields, 1.0)
        record = load_evidence(run_dir).benchmarks["h100", "demo_sweep"]
        record = record.model_copy(update={"seconds": 20.0})
        process = record.processes[0].model_copy(
            update={"wall": Wall(**phases), "gpu_seconds": 2.0, "seconds": 9.0}
        )
        work = own_work(record.model_copy(update={"processes": (process, process)}))
        assert work == GpuWork(work_s=10.0, timed_s=4.0, wall_s=20.0)

    def test_what_a_step_took_up_from_an_earlier_start_is_not_its_work(self, run_dir: Path) -> None:
        evidence = load_evidence(run_dir)
        before = step(Stage.BENCHMARK, -200, 100, target="h100")
        after = step(Stage.BENCHMARK, 5, 100, target="h100")
        other = step(Stage.BENCHMARK, 0, 100, target="h100", comparison="another")
        assert gpu_work(evidence, [before, after, other]) == {}

    def test_only_a_target_that_is_measured_here_holds_a_gpu(self) -> None:
        steps = [
            step(Stage.BENCHMARK, 0, 5, target="h100", comparison="c"),
            step(Stage.RUNNER_IMAGE, 0, 50, target="h100"),
            step(Stage.BENCHMARK, 0, 500, target="l4", comparison="c"),
        ]
        assert gpu_seconds(steps, frozenset({"h100"})) == 5


class TestReport:
    """The report says where the time went, where somebody kept it."""

    def rendered(self, run_dir: Path, out: Path) -> Page:
        render(run_dir.parents[1], run_dir, out)
        return Page((out / "appendix.html").read_text(encoding="utf-8"))

    def test_the_evidence_holds_the_timings_and_renders_to_the_same_bytes(
        self, run_dir: Path, tmp_path: Path
    ) -> None:
        first, again = tmp_path / "first", tmp_path / "again"
        self.rendered(run_dir, first)
        write_timing(run_dir, "report", {}, ZERO + timedelta(hours=1), 3.0)
        write_timing(run_dir, "verify", {}, ZERO + timedelta(hours=1), 3.0)
        self.rendered(run_dir, again)
        for name in ("evidence/timings.json", "report.html", "appendix.html", "report.md"):
            assert (first / name).read_bytes() == (again / name).read_bytes()
        kept = load_evidence(first / "evidence").timings
        assert kept is not None
        assert {s.stage for s in kept.steps} >= {Stage.PLAN, Stage.BENCHMARK, Stage.JUDGE}

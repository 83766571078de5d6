"""Timings of steps: kept, collected, added up and shown."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from assay.base.errors import BadInput
from assay.base.io import dump_record, read_record
from assay.evidence.load import load_evidence
from assay.evidence.stages import planned_steps, target_paths
from assay.evidence.timings import collect_timings, timing_path, write_timing
from assay.findings.step_timings import (
    GpuWork,
    benchmarks_of,
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
from assay.records.timings import Stage, StepTiming, TimingsRecord
from assay.report import formatting as fmt
from assay.report.figure_timings import StageRow, StepBar, where_the_time_went
from assay.report.render import render
from tests.pipeline.test_workflow import RULES
from tests.report.test_figures import Svg
from tests.report.test_render import Page
from tests.report_fixtures import provision, write_repository, write_run

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

    @pytest.mark.parametrize("started", ["yesterday", "2026-01-02T03:04:05", "2026-13-02T03:04Z"])
    def test_a_start_is_a_time_in_utc(self, tmp_path: Path, started: str) -> None:
        data = {"stage": "plan", "arguments": {}, "started": started, "seconds": 1.0}
        (tmp_path / "x.json").write_text(json.dumps(data))
        with pytest.raises(BadInput, match="started"):
            read_record(StepTiming, tmp_path / "x.json")


class TestThePlansSteps:
    """The timings collected are those of the steps that the workflow would run for this plan."""

    def test_steps_have_the_wildcards_of_their_rules(self, run_dir: Path) -> None:
        steps = planned_steps(read_record(Plan, run_dir / "plan.json"))
        assert {stage for stage, _ in steps} >= {Stage.BUILD, Stage.PROFILE, Stage.PROGRAM}
        for stage, arguments in steps:
            if stage is Stage.PLAN:
                continue  # the command's own step
            outputs = RULES[stage.value].split("output:")[1].split("log:")[0]
            if f'ASSAY.output("{stage}")' in outputs:
                assert list(arguments) == ["target"]
                continue
            for name in arguments:
                assert f"{{{{{name}}}}}" in outputs, (stage, name)

    def test_the_workflow_never_asks_for_timings(self) -> None:
        """A step that took longer than last time makes nothing out of date."""
        assert not any("timings" in body for body in RULES.values())

    def test_what_another_plan_left_is_not_collected(self, run_dir: Path) -> None:
        plan = read_record(Plan, run_dir / "plan.json")
        kept = collect_timings(run_dir, plan)
        gone = {"arch": "sm_90a", "artifact": "removed_since"}
        write_timing(run_dir, "build", gone, ZERO, 99.0)
        write_timing(run_dir, "report", {}, ZERO, 99.0)
        (run_dir / timing_path("inspect", {})).write_text('{"step": "inspect", "seconds": 1}')
        collected = collect_timings(run_dir, plan)
        assert list(collected.steps) == [s for s in kept.steps if s.stage is not Stage.INSPECT]

    def test_the_stages_after_the_verdicts_are_for_the_command_line(self, run_dir: Path) -> None:
        plan = read_record(Plan, run_dir / "plan.json")
        write_timing(run_dir, "sign", {}, ZERO + timedelta(days=1), 1.0)
        assert collect_timings(run_dir, plan, finishing=True).steps[-1].stage is Stage.SIGN
        assert Stage.SIGN not in {s.stage for s in collect_timings(run_dir, plan).steps}

    def test_steps_stand_in_the_order_in_which_they_started(self, run_dir: Path) -> None:
        steps = collect_timings(run_dir, read_record(Plan, run_dir / "plan.json")).steps
        assert [s.started for s in steps] == sorted(s.started for s in steps)


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

    def test_a_long_step_is_no_pause(self) -> None:
        axis = timeline([step(Stage.BUILD, 0, 500), step(Stage.JUDGE, 501, 1)])
        assert axis.cuts == ()
        assert axis.length == 502

    def test_nothing_is_no_time(self) -> None:
        assert timeline([]).length == 0
        assert stage_totals([]) == ()
        assert total_work([]) is None

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

    def test_gpu_work_is_what_events_measured_where_a_record_has_no_phases(
        self, run_dir: Path
    ) -> None:
        record = load_evidence(run_dir).benchmarks["h100", "demo_sweep"]
        before = [process.model_copy(update={"wall": None}) for process in record.processes]
        work = own_work(record.model_copy(update={"processes": tuple(before)}))
        assert work is not None
        assert work.work_s == pytest.approx(sum(each.gpu_seconds for each in before))

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

    def test_the_section_holds_totals_and_a_picture(self, run_dir: Path, tmp_path: Path) -> None:
        page = self.rendered(run_dir, tmp_path / "out")
        assert "timings" in page.ids
        assert "#timings" in page.links
        assert "evidence/timings.json" in page.links
        assert page.tags.count("svg") == 5
        assert "5 steps, 50.0\N{NO-BREAK SPACE}s" in " ".join(page.words)
        assert "build 5 50.0\N{NO-BREAK SPACE}s " in " ".join(" ".join(page.words).split(" "))
        assert "processes are known to have kept the GPU busy" in page.text
        assert "h100 demo_sweep " in page.text

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

    def test_a_report_without_timings_has_no_such_section(
        self, run_dir: Path, tmp_path: Path
    ) -> None:
        shutil.rmtree(run_dir / "timings")
        page = self.rendered(run_dir, tmp_path / "out")
        assert "timings" not in page.ids
        assert not (tmp_path / "out" / "evidence" / "timings.json").exists()
        assert load_evidence(tmp_path / "out" / "evidence").timings is None

    def test_what_an_interrupted_start_took_is_not_passed_over(
        self, run_dir: Path, tmp_path: Path
    ) -> None:
        whole = self.rendered(run_dir, tmp_path / "whole").text
        assert "finished by an earlier start" not in whole
        write_timing(run_dir, "benchmark", {"target": "h100"}, ZERO + timedelta(hours=1), 3.0)
        (record,) = benchmarks_of(load_evidence(run_dir), "h100")
        text = self.rendered(run_dir, tmp_path / "out").text
        assert "1 of the benchmarks was finished by an earlier start of this run" in text
        assert (
            f"by their own records, {fmt.duration(record.seconds)}; the".split()
            == (text[text.index("by their own records") :].split()[:7])
        )

    def test_figures_taken_over_say_what_they_once_took(self, tmp_path: Path) -> None:
        root = write_repository(tmp_path / "repo")
        run_dir = write_run(root, "first")
        plan = read_record(Plan, run_dir / "plan.json")
        recorded = provision(
            kind="recorded",
            recorded_in="reports/published/x",
            recorded_paths=tuple(target_paths(plan.targets[0])),
        )
        write_run(root, "demo_run", [recorded])
        taken = root / "results" / "demo_run"
        shutil.copytree(run_dir / "h100", taken / "h100")
        for name in ("manifest.json", "attestation.json"):
            (taken / "h100" / "origin").mkdir(exist_ok=True)
            (taken / "h100" / "origin" / name).write_text("{}")
        keep_timings(taken)
        page = self.rendered(taken, tmp_path / "out")
        assert "were taken over, which takes no time here" in page.text
        assert "Steps that had a GPU" not in page.text

    def test_timings_that_are_no_record_are_refused(self, run_dir: Path) -> None:
        (run_dir / "timings.json").write_text('{"schema": "assay/timings/1", "steps": [1]}')
        with pytest.raises(BadInput, match=r"steps\.0"):
            load_evidence(run_dir)


class TestPicture:
    """Stages as rows, steps as bars."""

    ROWS = (
        StageRow(
            "build", "2 steps", (StepBar(0, 9, 0, False, None), StepBar(1, 5, 1, False, None))
        ),
        StageRow("benchmark", "80.0 % busy", (StepBar(9, 30, 0, True, 0.8),)),
    )

    def test_equal_data_gives_equal_bytes_and_own_ids(self) -> None:
        svg = where_the_time_went(self.ROWS, 30.0, (9.0,), "mine")
        assert svg is not None
        assert svg == where_the_time_went(self.ROWS, 30.0, (9.0,), "mine")
        assert all(name.startswith("mine-") for name in Svg(svg).ids)

    def test_rows_notes_and_unit_are_text(self) -> None:
        svg = where_the_time_went(self.ROWS, 30.0, (), "a")
        assert svg is not None
        words = set(Svg(svg).text)
        assert {"build", "benchmark", "80.0 % busy", "time on the clock, s"} <= words

    @pytest.mark.parametrize(("length", "unit"), [(200.0, "s"), (400.0, "min"), (1e6, "min")])
    def test_the_axis_counts_what_a_reader_counts_in(self, length: float, unit: str) -> None:
        svg = where_the_time_went(self.ROWS, length, (), "a")
        assert svg is not None
        assert f"time on the clock, {unit}" in Svg(svg).text
        numbers = [float(word) for word in Svg(svg).text if word.replace(".", "").isdigit()]
        assert 3 <= len(numbers) <= 11

    def test_host_and_gpu_have_a_colour_each_and_part_work_is_pale(self) -> None:
        svg = where_the_time_went(self.ROWS, 30.0, (), "a")
        assert svg is not None
        assert "var(--series-0," in svg
        assert "var(--series-1," in svg
        assert "opacity: 0.4" in svg

    def test_without_steps_there_is_no_picture(self) -> None:
        assert where_the_time_went((), 0.0, (), "a") is None


def test_the_record_survives_its_own_json(run_dir: Path, tmp_path: Path) -> None:
    record = collect_timings(run_dir, read_record(Plan, run_dir / "plan.json"))
    (tmp_path / "t.json").write_bytes(dump_record(record))
    assert read_record(TimingsRecord, tmp_path / "t.json") == record

"""The report's part on what guards the figures: shown where there is evidence, alarming on top."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assay.agreement import agreements, nsight_clock_mhz, nsight_ms
from assay.conduct import conduct_of
from assay.config import Catalog, load_catalog
from assay.evidence import (
    Evidence,
    benchmark_path,
    cheats_path,
    load_evidence,
    sanitizer_path,
    stopwatch_path,
)
from assay.io import read_record, write_record
from assay.records.measurements import (
    BenchmarkRecord,
    CheatOutcome,
    CheatsRecord,
    StopwatchArm,
    StopwatchRecord,
)
from assay.records.sanitizer import SanitizerRecord
from assay.report.checks import agreement_section, alarms, cheats_sections
from assay.report.operators import operator_sections
from assay.report.render import render
from assay.report.sanitizer import sanitizer_sections
from assay.side_evidence import failed_cheats, failed_operators, failed_sanitizer
from tests.report_fixtures import cheats, sanitizer, stopwatch, write_repository, write_run

KERNELS = ("demo_bk32", "demo_bk64", "demo_bk96")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = write_repository(tmp_path_factory.mktemp("checks") / "repo")
    return root, write_run(root)


@pytest.fixture
def catalog(run: tuple[Path, Path]) -> Catalog:
    return load_catalog(run[0])


@pytest.fixture
def evidence(run: tuple[Path, Path]) -> Evidence:
    return load_evidence(run[1])


def rendered(root: Path, run_dir: Path, out: Path) -> tuple[str, str]:
    render(root, run_dir, out)
    return (out / "report.html").read_text(), (out / "report.md").read_text()


class TestPlan:
    """What a measured target calls for beside its figures."""

    def test_stopwatches_of_what_is_profiled_cheats_and_every_kernel(
        self, evidence: Evidence
    ) -> None:
        (plan,) = evidence.plan.targets
        assert plan.stopwatches == ("demo_sweep",)
        assert plan.cheats
        assert plan.sanitized == KERNELS


class TestAgreement:
    """Three times of one arm side by side."""

    def test_deviations_are_from_our_events_in_the_same_process(self, evidence: Evidence) -> None:
        first, second = agreements(evidence)
        assert first.nvbench_off == pytest.approx(0.01)
        assert first.nsight_off == pytest.approx(0.171234 / 0.17 - 1)
        assert not first.beyond(0.03)
        assert second.nvbench_off == pytest.approx(0.05)
        assert second.beyond(0.03)
        assert second.nsight_ms is None

    def test_nsight_is_held_against_the_judged_time_where_nvbench_has_none(
        self, evidence: Evidence, run: tuple[Path, Path], tmp_path: Path
    ) -> None:
        record = evidence.stopwatches["h100", "demo_sweep"]
        missing = StopwatchArm(
            arm="bk32", variant="demo_bk32", workload="demo_bsr", binary_sha256=None,
            status="not_installed", detail="the device Python lacks cuda-bench",
            events_median_ms=None, nvbench_cold_ms=None, nvbench_statistic=None,
            nvbench_samples=None,
        )  # fmt: skip
        lacking = record.model_copy(update={"arms": (missing,), "nvbench": None})
        evidence.stopwatches["h100", "demo_sweep"] = lacking
        (one,) = agreements(evidence)
        assert one.reference_ms == one.judged_ms
        assert one.nsight_off is not None
        section = agreement_section(load_catalog(run[0]), evidence)
        assert section is not None
        assert section.rows[0].standing.endswith(
            "NVBench: not installed (the device Python lacks cuda-bench)"
        )

    def test_a_duration_in_another_unit_is_converted_and_an_unknown_one_left_out(
        self, evidence: Evidence
    ) -> None:
        profile = evidence.profiles["h100", "demo_sweep", "bk32"]
        name = "gpu__time_duration.sum"
        in_us = profile.model_copy(update={"metrics": {name: 171.5}, "units": {name: "us"}})
        assert nsight_ms(in_us) == pytest.approx(0.1715)
        assert nsight_ms(in_us.model_copy(update={"units": {name: "fortnight"}})) is None

    def test_the_table_counts_and_marks_what_disagrees(
        self, catalog: Catalog, evidence: Evidence
    ) -> None:
        section = agreement_section(catalog, evidence)
        assert section is not None
        assert "Of 2 arms with more than one, 1 disagree by more than 3.0" in section.note[0]
        assert [row.agrees for row in section.rows] == [True, False]
        assert section.rows[1].nvbench_off == "+5.0\N{NO-BREAK SPACE}%"
        assert section.rows[0].clocks == "1698 / 1905 / \N{EN DASH}"

    def test_cycles_tell_another_clock_from_another_stopwatch(self, evidence: Evidence) -> None:
        first, _ = agreements(evidence)
        at_clock = replace(
            first,
            nsight_ms=first.events_ms and first.events_ms * 0.9,
            nsight_clock_mhz=first.events_clock_mhz and first.events_clock_mhz / 0.9,
            nvbench_ms=first.events_ms,
        )
        assert at_clock.nsight_off == pytest.approx(-0.1)
        assert at_clock.nsight_cycles_off == pytest.approx(0.0)
        assert at_clock.beyond(0.03) and at_clock.by_clock(0.03)
        wrong = replace(at_clock, nsight_clock_mhz=first.events_clock_mhz)
        assert wrong.beyond(0.03) and not wrong.by_clock(0.03)
        unknown = replace(at_clock, nsight_clock_mhz=None)
        assert unknown.nsight_cycles_off is None
        assert unknown.beyond(0.03) and not unknown.by_clock(0.03)

    def test_a_clock_is_taken_in_hertz_only(self, evidence: Evidence) -> None:
        profile = evidence.profiles["h100", "demo_sweep", "bk32"]
        name = "gpc__cycles_elapsed.avg.per_second"
        in_hz = profile.model_copy(update={"metrics": {name: 1.5e9}, "units": {name: "hz"}})
        assert nsight_clock_mhz(in_hz) == pytest.approx(1500.0)
        assert nsight_clock_mhz(in_hz.model_copy(update={"units": {name: "Ghz"}})) is None


class TestConduct:
    """What happened beside the timing."""

    def test_discarded_blocks_regimes_and_clocks_are_counted(self, evidence: Evidence) -> None:
        conduct = conduct_of(evidence.benchmarks["h100", "demo_sweep"])
        assert (conduct.blocks, conduct.discarded) == (15, 1)
        assert conduct.reasons == {"thermal slowdown": 1}
        assert conduct.regimes == {"software power cap": 10}
        clocks = conduct.clocks["bk32"]
        assert (clocks.low_mhz, clocks.high_mhz) == (1700.0, 1707.0)

    def test_turns_of_discarded_blocks_say_nothing_of_the_clock(
        self, run: tuple[Path, Path]
    ) -> None:
        path = run[1] / benchmark_path("h100", "demo_sweep")
        record = read_record(BenchmarkRecord, path)
        blocks = [
            block.model_copy(update={"void": "thermal slowdown"})
            for block in record.processes[0].blocks
        ]
        process = record.processes[0].model_copy(update={"blocks": tuple(blocks)})
        voided = record.model_copy(update={"processes": (process,)})
        assert conduct_of(voided).clocks == {}


class TestAlarms:
    """A reader learns first of a net with a hole and of a kernel that a sanitizer objects to."""

    def test_none_in_a_good_run(self, evidence: Evidence) -> None:
        assert list(alarms(evidence)) == []

    def test_a_cheat_that_nothing_catches(self, evidence: Evidence) -> None:
        evidence.cheats["h100"] = cheats("h100", caught=False)
        (alarm,) = alarms(evidence)
        assert alarm == "On h100 the checks let kernels that cheat through: warm up detector."
        assert "Of 2 kernels that cheat, 1 are caught" in cheats_sections(evidence)[0].summary
        assert cheats_sections(evidence)[0].rows[2].standing == "not caught"

    def test_an_honest_kernel_that_is_caught(self, evidence: Evidence) -> None:
        record = cheats("h100")
        honest = record.cheats[0].model_copy(update={"caught_by": ("repeat",), "as_meant": False})
        evidence.cheats["h100"] = record.model_copy(update={"cheats": (honest, *record.cheats[1:])})
        (alarm,) = alarms(evidence)
        assert "object to an honest kernel" in alarm
        assert "is caught as well" in cheats_sections(evidence)[0].summary

    def test_a_cheat_that_could_not_be_tried_is_neither_caught_nor_let_through(
        self, evidence: Evidence
    ) -> None:
        record = cheats("h100", caught=False)
        last = record.cheats[2].model_copy(update={"timed_run": "failed: died of SIGKILL"})
        evidence.cheats["h100"] = record.model_copy(update={"cheats": (*record.cheats[:2], last)})
        (alarm,) = alarms(evidence)
        assert "it is not known what the checks make of: warm up detector" in alarm

    def test_a_kernel_that_a_sanitizer_objects_to_is_named(self, evidence: Evidence) -> None:
        evidence.sanitizers["h100"] = sanitizer("h100", "sm_90a", KERNELS, racy="demo_bk64")
        (alarm,) = alarms(evidence)
        assert alarm == "On h100 compute-sanitizer objects to demo_bk64 (racecheck: 1 error)."
        (section,) = sanitizer_sections(evidence)
        assert "2 of 3 compiled kernels are clean" in section.summary
        assert section.rows[1].cells == (("clean", True), ("1 error", False), ("clean", True))
        assert section.rows[1].words[-1].startswith("racecheck: Error: Race") or any(
            words.startswith("racecheck: Error: Race") for words in section.rows[1].words
        )

    def test_a_tool_that_misses_its_control(self, evidence: Evidence) -> None:
        evidence.sanitizers["h100"] = sanitizer("h100", "sm_90a", KERNELS, blind=True)
        (alarm,) = alarms(evidence)
        assert "synccheck missed a kernel that does wrong on purpose" in alarm
        assert sanitizer_sections(evidence)[0].controls.endswith("synccheck missed it.")

    def test_other_binaries_than_the_runs_do_not_read_as_clean(self, evidence: Evidence) -> None:
        record = evidence.sanitizers["h100"]
        assert all(good for row in sanitizer_sections(evidence)[0].rows for _, good in row.cells)
        before = [
            run.model_copy(update={"binary_sha256": "ab" * 32})
            if run.variant == "demo_bk64"
            else run
            for run in record.runs
            if run.variant != "demo_bk96"
        ]
        evidence.sanitizers["h100"] = record.model_copy(update={"runs": tuple(before)})
        stale, missing = alarms(evidence)
        assert stale.endswith("so that it says nothing of this run's: demo_bk64.")
        assert missing == "On h100 compute-sanitizer was not shown: demo_bk96."
        (section,) = sanitizer_sections(evidence)
        assert section.summary.endswith("Of 1 it watched another binary than this run's.")
        rows = {row.variant: row for row in section.rows}
        assert all(good for _, good in rows["demo_bk32"].cells)
        assert not any(good for _, good in rows["demo_bk64"].cells)
        assert rows["demo_bk64"].words[-1] == "another binary than this run's"
        assert rows["demo_bk96"].cells == (("not tried", False),) * 3

    def test_what_was_timed_but_not_compiled_here_is_told_without_alarm(
        self, evidence: Evidence
    ) -> None:
        """As where figures are taken over, and this machine's host compiler is another."""
        key = ("demo_bk32", "sm_90a")
        build = evidence.builds[key]
        assert build.artifact is not None
        other = build.artifact.model_copy(update={"sha256": "ab" * 32})
        evidence.builds[key] = build.model_copy(update={"artifact": other})
        assert list(alarms(evidence)) == []
        row = sanitizer_sections(evidence)[0].rows[0]
        assert row.variant == "demo_bk32"
        assert row.words[-1] == "the binary that was timed; this run compiled another, or none"
        assert all(good for _, good in row.cells)


class TestPages:
    """Both accounts show it, and only where there is evidence."""

    def test_sections_stand_in_both(self, run: tuple[Path, Path], tmp_path: Path) -> None:
        html, markdown = rendered(*run, tmp_path / "report")
        for section in ("stopwatches", "cheats", "sanitizer"):
            assert f'<section id="{section}">' in html
            assert f'href="#{section}"' in html
        for title in ("Three stopwatches", "Kernels that cheat", "compute-sanitizer"):
            assert f"## {title}\n" in markdown
        assert "Attention:" not in html + markdown
        for text in (html, markdown):
            assert "1 of 15 (1 for thermal slowdown)" in text
            assert "software power cap in 10 of 15 blocks" in text
            assert "1704 MHz (1700 to 1707)" in text

    def test_an_alarm_stands_on_top_of_both(self, run: tuple[Path, Path], tmp_path: Path) -> None:
        root, run_dir = run
        path = run_dir / cheats_path("h100")
        good = path.read_bytes()
        try:
            write_record(cheats("h100", caught=False), path)
            html, markdown = rendered(root, run_dir, tmp_path / "report")
        finally:
            path.write_bytes(good)
        assert html.index("let kernels that cheat through") < html.index("This report holds")
        assert markdown.index("let kernels that cheat through") < markdown.index("## Summary")

    def test_nothing_of_it_without_evidence(self, run: tuple[Path, Path], tmp_path: Path) -> None:
        root, run_dir = run
        paths = [
            run_dir / path
            for path in (
                cheats_path("h100"),
                sanitizer_path("h100"),
                stopwatch_path("h100", "demo_sweep"),
            )
        ]
        kept = [path.read_bytes() for path in paths]
        try:
            for path in paths:
                path.unlink()
            html, markdown = rendered(root, run_dir, tmp_path / "report")
        finally:
            for path, data in zip(paths, kept, strict=True):
                path.write_bytes(data)
        assert 'id="cheats"' not in html
        assert 'id="sanitizer"' not in html
        assert 'id="stopwatches"' not in html
        assert "Three stopwatches" not in markdown


def test_the_fixture_is_what_the_device_side_writes(run: tuple[Path, Path]) -> None:
    """Its records read back strictly, as evidence is read."""
    path = run[1] / stopwatch_path("h100", "demo_sweep")
    assert read_record(StopwatchRecord, path) == stopwatch(
        load_catalog(run[0]), "demo_sweep", "h100"
    )


def test_what_could_not_be_had_is_said_and_never_reads_as_fine(
    run: tuple[Path, Path], tmp_path: Path
) -> None:
    job = {"target": {"id": "h100"}}
    told = [make(job, "GPU-1", "it hung") for make in (failed_cheats, failed_sanitizer)]
    copy = tmp_path / "results" / "copy"
    shutil.copytree(run[1], copy)
    write_record(told[0], copy / "h100" / "cheats.json")
    write_record(told[1], copy / "h100" / "sanitizer.json")
    evidence = load_evidence(copy)
    said = " ".join(alarms(evidence))
    assert "On h100 kernels that cheat could not be tried: it hung." in said
    assert "On h100 compute-sanitizer came to no result: it hung." in said
    html, markdown = rendered(run[0], copy, tmp_path / "out")
    for text in (html, markdown):
        assert "None was tried to its end: it hung." in text
        assert "are caught on this GPU" not in text
        assert "are clean under every tool" not in text
    operators = failed_operators(job, "GPU-1", "it hung")
    (section,) = operator_sections(replace(evidence, operators={"h100": operators}))
    assert (section.failure, section.rows) == ("it hung", ())


class TestRecordsThatContradictThemselves:
    """What no device side of ours writes is not read."""

    def test_a_tool_that_was_shown_no_control(self) -> None:
        document = sanitizer("h100", "sm_90a", KERNELS).model_dump(mode="json", by_alias=True)
        document["controls"] = document["controls"][1:]
        with pytest.raises(ValueError, match="no control for memcheck"):
            SanitizerRecord.model_validate_json(json.dumps(document))

    def test_a_cheat_that_nothing_caught_is_not_caught_as_meant(self) -> None:
        with pytest.raises(ValueError, match="what caught it says otherwise"):
            CheatOutcome(
                name="zeros", what="x", meant="timed_shape", caught_by=(), as_meant=True,
                timed_run="passed",
            )  # fmt: skip

    def test_cheats_without_an_honest_kernel_beside_them(self) -> None:
        document = cheats("h100").model_dump(mode="json", by_alias=True)
        document["cheats"] = [one for one in document["cheats"] if one["meant"]]
        with pytest.raises(ValueError, match="without the honest kernel"):
            CheatsRecord.model_validate_json(json.dumps(document))

"""The report's part on what guards the figures: shown where there is evidence, alarming on top."""

import shutil
from pathlib import Path

import pytest

from assay.base.io import write_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.device.tasks.caught_by import CAUGHT_BY
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.outcomes import failed_cheats, failed_sanitizer
from assay.report.checks import alarms, cheats_sections, guards, sanitizer_sections
from assay.report.render import render
from assay.report.stopwatches import (
    Agreement,
    StopwatchReading,
    agreement_section,
    agreements,
    clocks_of,
)
from assay.shared.job import CheatsJob
from tests.jobs import TARGET
from tests.report_fixtures import WHEN, cheats, sanitizer

KERNELS = ("demo_bk32", "demo_bk64", "demo_bk96")

CHEATS = sum(meant is not None for meant in CAUGHT_BY.values())


@pytest.fixture
def catalog(report: Path) -> Catalog:
    return load_catalog(report / "evidence")


@pytest.fixture
def evidence(report: Path) -> Evidence:
    return load_evidence(report / "evidence")


class TestStopwatches:
    """Three times of one arm side by side."""

    def test_the_table_counts_what_is_off_and_what_the_clock_does_not_explain(
        self, catalog: Catalog, evidence: Evidence
    ) -> None:
        found = list(agreements(evidence, clocks_of(evidence.benchmarks.values())))
        section = agreement_section(catalog, evidence, found)
        assert (section["arms"], section["in_time"], section["disagree"]) == (2, 1, 1)
        first, second = section["rows"]
        assert (first["judged"][1], first["disagrees"]) == ("1704\N{NO-BREAK SPACE}MHz", False)
        assert second["disagrees"]
        assert agreement_section(catalog, evidence, []) is None

    @pytest.mark.parametrize(
        ("nsight", "in_time", "disagrees"),
        [
            (StopwatchReading(), False, False),
            (StopwatchReading(0.99, 1500.0), False, False),
            (StopwatchReading(0.9, 1500 / 0.9), True, False),
            (StopwatchReading(0.95, 1800.0), True, False),  # half of its time goes with the clock
            (StopwatchReading(0.9, 1500.0), True, True),
            (StopwatchReading(0.9), True, True),
        ],
    )
    def test_cycles_tell_another_clock_from_another_stopwatch(self, nsight, in_time, disagrees):
        judged = StopwatchReading(1.0, 1500.0)
        arm = Agreement("h100", "sweep", "arm", judged, StopwatchReading(), nsight, "")
        assert (arm.in_time(0.03), arm.disagrees(0.03)) == (in_time, disagrees)


def test_a_cheat_that_nothing_caught_is_an_exception(catalog: Catalog, evidence: Evidence) -> None:
    """Of what was tried how much held, and nothing said of what was not tried."""
    evidence.cheats["h100"] = cheats("h100", caught=False)
    evidence.sanitizers.clear()
    first, second = guards(catalog, evidence, (), ())
    assert (first.words, first.held) == (
        f"1 of {CHEATS} cheating kernels of Assay's own not caught (h100)",
        False,
    )
    assert not second.held


class TestAlarms:
    """A reader learns first of a net with a hole and of a kernel that a sanitizer objects to."""

    def test_a_cheat_that_nothing_catches(self, catalog: Catalog, evidence: Evidence) -> None:
        evidence.cheats["h100"] = cheats("h100", caught=False)
        (alarm,) = alarms(catalog, evidence)
        assert alarm == "On h100 the checks let kernels that cheat through: warm up detector."
        section = next(cheats_sections(evidence))
        assert (section["tried"], section["caught"]) == (CHEATS, CHEATS - 1)
        assert next(cheats_sections(evidence))["rows"][-1]["standing"] == "not caught"

    def test_an_honest_kernel_that_is_caught(self, catalog: Catalog, evidence: Evidence) -> None:
        record = cheats("h100")
        honest = record.cheats[0].model_copy(update={"caught_by": ("repeat",), "as_meant": False})
        evidence.cheats["h100"] = record.model_copy(update={"cheats": (honest, *record.cheats[1:])})
        (alarm,) = alarms(catalog, evidence)
        assert "object to an honest kernel" in alarm
        assert not next(cheats_sections(evidence))["honest"][0].as_meant

    def test_a_cheat_that_could_not_be_tried_is_neither_caught_nor_let_through(
        self, catalog: Catalog, evidence: Evidence
    ) -> None:
        record = cheats("h100", caught=False)
        last = record.cheats[-1].model_copy(update={"ended": False, "timed_run": "SIGKILL"})
        evidence.cheats["h100"] = record.model_copy(update={"cheats": (*record.cheats[:-1], last)})
        (alarm,) = alarms(catalog, evidence)
        assert "ended before the checks were done: warm up detector" in alarm

    def test_a_kernel_that_a_sanitizer_objects_to_is_named(self, catalog, evidence):
        evidence.sanitizers["h100"] = sanitizer("h100", "sm_90a", KERNELS, racy="demo_bk64")
        (alarm,) = alarms(catalog, evidence)
        assert alarm == "On h100 compute-sanitizer objects to demo_bk64 (racecheck: 1 error)."
        (section,) = sanitizer_sections(catalog, evidence)
        assert (section["clean"], section["variants"]) == (2, 3)
        assert section["rows"][1]["cells"] == [("clean", True), ("1 error", False), ("clean", True)]
        assert any(
            words.startswith("racecheck: Error: Race") for words in section["rows"][1]["words"]
        )

    def test_other_binaries_than_the_runs_do_not_read_as_clean(self, catalog, evidence):
        record = evidence.sanitizers["h100"]
        assert all(
            good
            for row in next(sanitizer_sections(catalog, evidence))["rows"]
            for _, good in row["cells"]
        )
        before = [
            run.model_copy(update={"binary_sha256": "ab" * 32})
            if run.variant == "demo_bk64"
            else run
            for run in record.runs
        ]
        evidence.sanitizers["h100"] = record.model_copy(update={"runs": tuple(before)})
        (stale,) = alarms(catalog, evidence)
        assert stale.endswith("so that it says nothing of this run's: demo_bk64.")
        (section,) = sanitizer_sections(catalog, evidence)
        assert section["foreign"] == 1
        rows = {row["variant"]: row for row in section["rows"]}
        assert all(good for _, good in rows["demo_bk32"]["cells"])
        assert not any(good for _, good in rows["demo_bk64"]["cells"])


def test_what_could_not_be_had_is_said_and_never_reads_as_fine(report, tmp_path):
    root = report.parents[1]
    copy = shutil.copytree(root / "results" / "demo_run", tmp_path / "results" / "copy")
    for name, make in (("cheats", failed_cheats), ("sanitizer", failed_sanitizer)):
        record = make(CheatsJob(TARGET), "GPU-1", WHEN, "it hung")
        write_record(record, copy / "h100" / f"{name}.json")
    said = " ".join(alarms(load_catalog(root), load_evidence(copy)))
    assert "On h100 kernels that cheat could not be tried: it hung." in said
    assert "compute-sanitizer" not in said, "beside the figures it is evidence, and no alarm"
    render(root, copy, out := tmp_path / "out")
    appendix = (out / "appendix.html").read_text()
    assert "None was tried to its end: it hung." in appendix
    assert "are caught on this GPU" not in appendix
    assert "are clean under every tool" not in appendix
    for name in ("report.html", "report.md"):
        text = (out / name).read_text()
        assert "compute-sanitizer came to no result on h100 (it hung)" in text
        assert "were caught" not in text
        assert "sanitizer runs clean" not in text

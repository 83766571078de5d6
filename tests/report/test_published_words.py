"""What README says by hand of the newest published report is what its records say."""

import re
from pathlib import Path

from assay.base.io import read_record
from assay.evidence.stages import other_runs_path
from assay.records.report_figures import OtherRunsRecord
from assay.records.verdicts import VerdictsFile
from tests.report.newest import newest_report

README = Path(__file__).resolve().parents[2] / "README.md"


def test_what_source_003_has_no_figure_of_is_counted_and_found() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    said = re.search(
        r"(\d+) claims of source 003 are `not_recorded` in that report: .*? An H200's figures of "
        r"all (\d+), .*? are in `reports/published/(\w+)\.tar\.xz`",
        text,
    )
    assert said is not None
    report = newest_report()
    idle = {
        verdict.claim
        for verdict in read_record(VerdictsFile, report / "verdicts.json").verdicts
        if verdict.source == "003" and verdict.reason == "not_recorded"
    }
    assert {int(said[1]), int(said[2])} == {len(idle)}
    others = read_record(OtherRunsRecord, report / "evidence" / other_runs_path())
    held = {
        figure.claim
        for run in others.runs
        if run.report == said[3] and run.machine.target == "h200"
        for figure in run.figures
    }
    assert idle <= held

"""The newest published report, judged again by the rules that stand, as its pages say it."""

from dataclasses import replace
from pathlib import Path

from assay.evidence.load import ReportContents, read_contents
from assay.judging.judge import judge
from assay.report.render import render_contents
from assay.verification.report_archive import is_archive
from assay.verification.trust import published_reports

ROOT = Path(__file__).resolve().parents[2]


def newest_report() -> Path:
    return next(report for report in published_reports(ROOT) if not is_archive(report))


def judged_anew(report: Path) -> ReportContents:
    """Return what a report holds, its verdicts by the rules that stand."""
    contents = read_contents(report)
    return replace(contents, verdicts=judge(contents.catalog, contents.evidence))


def newest_texts() -> dict[str, str]:
    """Return the texts of the newest published report, as this version judges and renders it."""
    return render_contents(ROOT, judged_anew(newest_report()))

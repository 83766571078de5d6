"""What the repository's signed reports measured, kept with a run before its report is written.

A record of it, and not the reports themselves, is evidence of the run: whoever renders the report
again later finds the same, whatever has been published since.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.base.errors import AssayError
from assay.base.io import read_record, write_record_if_changed
from assay.base.progress import say
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.evidence.stages import other_runs_path
from assay.findings.card_spread import other_runs
from assay.findings.report_figures import UNWRITTEN, report_figures
from assay.records.manifest import VERDICTS
from assay.records.report_figures import ReportFigures
from assay.records.verdicts import VerdictsFile
from assay.verification.open_report import OpenReport, open_report
from assay.verification.report_archive import report_name
from assay.verification.trust import published_reports
from assay.verification.trusted_keys import trusted_keys


def write_other_runs(root: Path, run_dir: Path) -> None:
    """Write other_runs.json below a run's directory, or remove it where there is no other run."""
    reports, path = published_reports(root), run_dir / other_runs_path()
    record = (
        other_runs(_own(run_dir), signed_figures(reports, trusted_keys(root))) if reports else None
    )
    if record is None or not record.runs:
        path.unlink(missing_ok=True)
    else:
        write_record_if_changed(record, path)


def _own(run_dir: Path) -> ReportFigures:
    return report_figures(
        load_catalog(run_dir),
        load_evidence(run_dir),
        read_record(VerdictsFile, run_dir / VERDICTS),
        commit=None,
        created=None,
        manifest_sha256=UNWRITTEN,
        rates=False,
    )


def signed_figures(reports: Sequence[Path], keys: Sequence[Path]) -> Iterator[ReportFigures]:
    """Yield the figures of reports that one of ``keys`` signed; says which are left out."""
    for path in reports:
        try:
            yield figures_of(open_report(path, keys), rates=False)
        except AssayError as error:
            say(f"{report_name(path)} is left out of the spread between runs: {error}")


def figures_of(report: OpenReport, *, rates: bool) -> ReportFigures:
    """Return an opened report in short; ``rates`` as for ``report_figures``."""
    contents = report.contents
    return report_figures(
        contents.catalog,
        contents.evidence,
        contents.verdicts,
        commit=report.commit,
        created=report.created,
        manifest_sha256=report.manifest_sha256,
        rates=rates,
    )

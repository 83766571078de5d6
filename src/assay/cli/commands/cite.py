"""``./assay cite``: how a report is cited."""

import sys

from assay import __version__
from assay.cli.options import KeyOption, ReportArgument
from assay.report.citation import CitedReport, bibtex
from assay.verification.open_report import open_report


def cite(report_dir: ReportArgument, key: KeyOption = None) -> None:
    """Print the BibTeX entry of a signed report."""
    report = open_report(report_dir, key or None)
    assert report.signed is not None
    products = report.verdicts.gpu.dropna().unique().tolist()
    signer = report.signed.signers[0]
    sys.stdout.write(
        bibtex(
            CitedReport(
                run=report.run,
                created=report.signed.statement.predicate.created,
                signer=signer.name,
                keyid=signer.keyid,
                manifest_sha256=report.manifest_sha256,
                commit=report.commit,
                products=tuple(sorted(products)),
                version=__version__,
            )
        )
    )

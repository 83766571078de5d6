"""``./assay cite``: how a report is cited."""

import sys

from assay import __version__
from assay.cli.options import KeyOption, ReportArgument
from assay.cli.signed_report import VerifyOption, signed_report
from assay.report.citation import CitedReport, bibtex


def cite(report_dir: ReportArgument, key: KeyOption = None, verify: VerifyOption = False) -> None:
    """Print the BibTeX entry of a signed report.

    Its signature and every byte are checked; with --verify it is judged again first.
    """
    report = signed_report(report_dir, key, whole=verify)
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

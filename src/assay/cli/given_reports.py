"""Reports that a command takes several of: each verified first, or kept from when it was."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.base.progress import say
from assay.cli import checkout
from assay.cli.commands.verify import Trust, check_report
from assay.findings.given_report import GivenReport
from assay.pipeline.verified_figures import KEPT, ReportReader
from assay.verification.policy import Policy
from assay.verification.trusted_keys import load_trusted_keys, threshold, trusted_keys
from assay.verification.verify import VerificationLog


def reader(keys: Sequence[Path] | None, *, fresh: bool = False) -> ReportReader:
    """Return what reads reports with this checkout's eyes; ``fresh``: nothing that was kept counts.

    Whose margins a report was judged by is listed, and fails nothing: reports of other checkouts
    are compared, too.
    """
    ours = trusted_keys(checkout.ROOT)
    needed = 1 if keys else threshold(checkout.ROOT)

    def verify(directory: Path, log: VerificationLog) -> None:
        rules = Policy(checkout.ROOT, accepted=True)
        check_report(directory, Trust(keys), rules, texts=False, log=log)

    trusted = load_trusted_keys(keys or ours, ours)
    folder = None if fresh else checkout.ROOT / KEPT
    return ReportReader(verify, trusted, needed, checkout.ROOT, folder)


def given_reports(
    paths: Iterable[Path], keys: Sequence[Path] | None, *, fresh: bool = False
) -> Iterator[GivenReport]:
    """Yield the reports at ``paths``; each that takes time says so. Raises BadInput."""
    read = reader(keys, fresh=fresh)
    for path in paths:
        report = read.read(path)
        earlier = " (verified before, and unchanged since)" if report.kept else ""
        say(f"{report.name}: {report.note}{earlier}")
        yield report

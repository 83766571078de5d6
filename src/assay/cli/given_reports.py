"""Reports that a command takes several of, each verified first.

Of a report that nobody vouches for nothing is read: it is named, with what is wrong.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from assay.base.errors import AssayError, BadInput, CheckFailed
from assay.base.io import read_bytes
from assay.base.printable import shortened
from assay.base.progress import say
from assay.cli import checkout
from assay.cli.commands.verify import SHORT, check_report
from assay.cli.options import keys_of, require_report
from assay.evidence.load import ReportContents
from assay.findings.report_comparison import GivenReport
from assay.findings.report_figures import report_figures, unread_figures
from assay.pipeline.preconditions import LOCAL
from assay.records.attestation import MANIFEST, VERDICTS
from assay.records.report_figures import ReportFigures
from assay.shared.files import sha256_bytes
from assay.verification.made_again import OtherVersion
from assay.verification.report_archive import opened_report, report_name
from assay.verification.signed_files import measurer_of
from assay.verification.trust import may_speak_of, project_reports, published_reports
from assay.verification.trusted_keys import TrustedKey, load_trusted_keys, trusted_keys
from assay.verification.verify import VerificationLog

LONGEST_TITLE = 80
MOST_AT_ONCE = 8
"""Reports that are verified beside each other: a large one takes half a GB."""
Keep = Callable[[Path, Path, GivenReport], None]
"""What takes over an intact report: given where, unpacked where."""


def given_reports(
    paths: Sequence[Path],
    keys: Sequence[Path] | None,
    project: Path | None,
    keep: Keep | None = None,
) -> Iterator[GivenReport]:
    """Yield the reports at ``paths``, verified, and say of each whether it is. Raises BadInput.
    Whose margins one was judged by fails nothing: reports of other checkouts are compared, too.
    ``keep`` is called for each intact one, whose figures then have their rates.
    """
    trusted = load_trusted_keys(keys or keys_of(project), trusted_keys(checkout.ROOT))
    for path in paths:  # none is verified, which takes long, where another is not there
        require_report(path)
    one = partial(_read, keys=keys, project=project, trusted=trusted, keep=keep)
    with ExitStack() as stack:
        each: Callable[..., Iterator[GivenReport]] = map
        if len(paths) > 1:
            workers = min(len(paths), os.cpu_count() or 1, MOST_AT_ONCE)
            each = stack.enter_context(ProcessPoolExecutor(workers, initializer=_leave_signals)).map
        for report in each(one, paths):
            say(f"{report.name}: {report.note}")
            yield report


def _leave_signals() -> None:
    """The parent hears of Ctrl-C, too, and ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read(
    path: Path,
    keys: Sequence[Path] | None,
    project: Path | None,
    trusted: Sequence[TrustedKey],
    keep: Keep | None,
) -> GivenReport:
    """Return a report, verified or with what is wrong. Raises BadInput, MissingEnvironment."""
    log = VerificationLog()
    try:
        with opened_report(path) as directory:
            log.called = directory, path
            with suppress(OSError):  # what cannot be looked at does not verify, and says so
                if not (directory / VERDICTS).is_file():
                    raise BadInput(f"{directory}: is not a report: it has no {VERDICTS}")
            try:
                check_report(directory, keys, project, None, log)
            except OtherVersion:
                pass  # it is intact, and judged by other rules
            except (AssayError, OSError) as error:
                failed = [f"{each.id}: {each.says}" for each in log.checks if not each.passed]
                if isinstance(error, OSError):
                    failed = [f"cannot be read: {error.strerror}"]
                return _unverified(path, (failed or [str(error)])[0])
            report = _intact(path, directory, trusted, log, with_rates=keep is not None)
            if keep is not None:
                keep(path, directory, report)
            return report
    except CheckFailed as error:  # an archive that packing did not write
        return _unverified(path, str(error))


def figures_of_contents(
    contents: ReportContents, *, created: str | None, manifest_sha256: str, with_rates: bool = False
) -> ReportFigures:
    """Return a report that was read in short; ``with_rates`` as for ``report_figures``."""
    return report_figures(
        contents.catalog,
        contents.evidence,
        contents.verdicts,
        commit=contents.pipeline.commit,
        created=created,
        manifest_sha256=manifest_sha256,
        with_rates=with_rates,
    )


def _intact(
    path: Path,
    directory: Path,
    trusted: Sequence[TrustedKey],
    log: VerificationLog,
    *,
    with_rates: bool,
) -> GivenReport:
    """Return a report that a trusted key vouches for, by what was read when it was verified."""
    assert log.contents is not None
    assert log.signed is not None
    figures = figures_of_contents(
        log.contents,
        created=log.signed.statement.predicate.created,
        manifest_sha256=sha256_bytes(read_bytes(directory / MANIFEST)),
        with_rates=with_rates,
    )
    keyid, signer = log.signed.signer.keyid, log.signed.signer.name
    word = "verified" if log.holds else "intact, not judged again"
    return GivenReport(
        name=name_of(path, figures.run, log.project_title),
        path=str(path),
        figures=figures,
        keyid=keyid,
        note=f"{word}: signed by {signer} ({keyid[:SHORT]}), rules {figures.rules}",
        signer=signer,
        holder=next((key.signer for key in trusted if key.keyid == keyid), keyid),
        measurer=measurer_of(log.signed.signer, log.signed.manifest, trusted),
        judged=log.holds,
    )


def name_of(path: Path, run: str, project: str | None) -> str:
    """Return what tells a report from others: with its project's title where nobody named it."""
    name = report_name(path)
    if name != run:
        return f"{name} (run {run})"
    if name == LOCAL and project:
        return f"{name} ({shortened(project, LONGEST_TITLE)})"
    return name


def _unverified(path: Path, wrong: str) -> GivenReport:
    said = " ".join(wrong.split())
    return GivenReport(report_name(path), str(path), unread_figures(), None, f"unverified: {said}")


def reports_on(claim: str, project: Path | None) -> list[Path]:
    """Return reports that may speak of a claim: a project's own, or those published here."""
    if project is not None:
        return project_reports(project)
    return [path for path in published_reports(checkout.ROOT) if may_speak_of(path, [claim])]

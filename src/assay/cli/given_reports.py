"""Reports that a command takes several of: each verified first, or kept from when it was."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.base.cache_place import project_cache
from assay.base.errors import BadInput, MissingEnvironment
from assay.base.printable import shown_line
from assay.base.progress import say
from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout, console
from assay.cli.commands.verify import Trust, check_report
from assay.cli.project_folder import keys_of
from assay.findings.given_report import GivenReport
from assay.pipeline.verified_figures import KEPT, ReportReader
from assay.shared.counting import counted
from assay.verification.policy import Policy
from assay.verification.report_archive import report_name
from assay.verification.trust import may_speak_of, published_reports, reports_in
from assay.verification.trusted_keys import load_trusted_keys, trusted_keys
from assay.verification.verify import VerificationLog

SHORT = 12
"""Characters of a key's digest in the last line."""


def given_reports(
    paths: Sequence[Path],
    keys: Sequence[Path] | None,
    *,
    fresh: bool = False,
    project: Path | None = None,
) -> Iterator[GivenReport]:
    """Yield the reports at ``paths``, verified. Raises BadInput.

    A terminal shows which one is read, and at the end how many verified; elsewhere each is a line.
    """
    read = reader(keys, fresh=fresh, project=project)
    terminal, done = console.is_terminal(console.err), list[GivenReport]()
    with console.err.status("") as status:
        for number, path in enumerate(paths, start=1):
            of = f"report {number} of {len(paths)}, {report_name(path)}"
            status.update(shown_line(f"verifying {of}"))
            report = read.read(path)
            done.append(report)
            if not (terminal and report.verified):
                say(f"{report.name}: {report.note}{_earlier(report)}")
            yield report
    if terminal and done:
        say(summary(done))


def _earlier(report: GivenReport) -> str:
    return " (verified before, and unchanged since)" if report.kept else ""


def summary(reports: Sequence[GivenReport]) -> str:
    """Return how many reports verified, and who signed them."""
    held = [report for report in reports if report.verified]
    signers = dict.fromkeys(f"{r.signer} ({r.keyid[:SHORT]})" for r in held if r.keyid)
    by = f", signed by {' and '.join(signers)}" if signers else ""
    other = sum(report.intact and not report.judged for report in reports)
    intact = f"; {other} intact, of other rules" if other else ""
    return f"{len(held)} of {counted(len(reports), 'report')} verified{by}{intact}"


def reader(
    keys: Sequence[Path] | None, *, fresh: bool = False, project: Path | None = None
) -> ReportReader:
    """Return what reads reports with this checkout's eyes; ``fresh``: nothing that was kept counts.

    The keys of a ``project`` count for its reports, beside this checkout's. Whose margins a report
    was judged by fails nothing: reports of other checkouts are compared, too.
    """

    def verify(directory: Path, log: VerificationLog) -> None:
        rules = Policy(checkout.ROOT, accepted=True)
        check_report(directory, Trust(keys, project=project), rules, log)

    trusted = load_trusted_keys(keys or keys_of(project), trusted_keys(checkout.ROOT))
    return ReportReader(verify, trusted, checkout.ROOT, None if fresh else _kept_in(project))


def _kept_in(project: Path | None) -> Path | None:
    """Return where reports that verified are kept: a project's with its user, if possible."""
    if project is None:
        return checkout.ROOT / KEPT
    try:
        return project_cache(os.environ) / KEPT.name
    except MissingEnvironment:  # they are verified each time
        return None


def reports_on(claim: str, project: Path | None) -> list[Path]:
    """Return the reports that may speak of a claim: a project's own, or those published here, of
    the repository's sources or of one project below it.

    Raises BadInput where several of these projects have such a claim.
    """
    if project is not None:
        reports = project / "reports"
        return [*reports_in(reports / "published"), *reports_in(reports)]
    if ours := _speaking_of(claim, checkout.ROOT):
        return ours
    projects = {folder: _speaking_of(claim, folder) for folder in published_projects()}
    found = {folder.name: reports for folder, reports in projects.items() if reports}
    if len(found) > 1:
        named = " and ".join(found)
        raise BadInput(f"'{claim}' is a claim of the projects {named}: --project DIR names one")
    return next(iter(found.values()), [])


def _speaking_of(claim: str, root: Path) -> list[Path]:
    return [path for path in published_reports(root) if may_speak_of(path, claim)]


def published_projects() -> list[Path]:
    """Return the folders of the projects that this repository publishes reports of."""
    return sorted(path.parent for path in (checkout.ROOT / "projects").glob(f"*/{PROJECT_FILE}"))

"""Reports that a command takes several of: each verified first, or kept from when it was."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.base.cache_place import project_cache
from assay.base.errors import BadInput, MissingEnvironment
from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout, console
from assay.cli.commands.verify import Trust, check_report
from assay.cli.live_reports import reports_shown
from assay.cli.project_folder import keys_of
from assay.findings.given_report import GivenReport
from assay.pipeline.verified_figures import KEPT, ReportReader
from assay.verification.policy import Policy
from assay.verification.report_archive import report_name
from assay.verification.trust import may_speak_of, published_reports, reports_in
from assay.verification.trusted_keys import load_trusted_keys, trusted_keys
from assay.verification.verify import VerificationLog


def reader(
    keys: Sequence[Path] | None, *, fresh: bool = False, project: Path | None = None
) -> ReportReader:
    """Return what reads reports with this checkout's eyes; ``fresh``: nothing that was kept counts.

    The keys of a ``project`` count for its reports, beside this checkout's.

    Whose margins a report was judged by is listed, and fails nothing: reports of other checkouts
    are compared, too.
    """
    ours = trusted_keys(checkout.ROOT)

    def verify(directory: Path, log: VerificationLog) -> None:
        rules = Policy(checkout.ROOT, accepted=True)
        check_report(directory, Trust(keys, project=project), rules, log)

    trusted = load_trusted_keys(keys or keys_of(project), ours)
    folder = None if fresh else _kept_in(project)
    return ReportReader(verify, trusted, checkout.ROOT, folder)


def _kept_in(project: Path | None) -> Path | None:
    """Return where reports that verified are kept: a project's with its user, where that can be
    written; nothing of it lands in the repository.
    """
    if project is None:
        return checkout.ROOT / KEPT
    try:
        return project_cache(os.environ) / KEPT.name
    except MissingEnvironment:  # they are verified each time
        return None


def given_reports(
    paths: Sequence[Path],
    keys: Sequence[Path] | None,
    *,
    fresh: bool = False,
    project: Path | None = None,
) -> Iterator[GivenReport]:
    """Yield the reports at ``paths``, and show how far that is. Raises BadInput."""
    read = reader(keys, fresh=fresh, project=project)
    with reports_shown(console.err, len(paths)) as shown:
        for path in paths:
            shown.next(report_name(path))
            report = read.read(path, shown.begun)
            shown.ended(report)
            yield report


def reports_on(claim: str, project: Path | None) -> list[Path]:
    """Return the reports that may speak of a claim: a project's own, which it published and which
    it made, or those that are published here, of the repository's sources or of one project below
    it.

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

"""Reports that a command takes several of: each verified first, or kept from when it was."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.base.cache_place import project_cache
from assay.base.errors import BadInput, MissingEnvironment
from assay.base.progress import say
from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout
from assay.cli.commands.verify import check_report
from assay.cli.project_folder import keys_of
from assay.findings.given_report import GivenReport
from assay.pipeline.verified_figures import KEPT, ReportReader
from assay.verification.policy import Policy
from assay.verification.trust import may_speak_of, published_reports, reports_in
from assay.verification.trusted_keys import load_trusted_keys, trusted_keys
from assay.verification.verify import VerificationLog


def given_reports(
    paths: Sequence[Path],
    keys: Sequence[Path] | None,
    *,
    fresh: bool = False,
    project: Path | None = None,
) -> Iterator[GivenReport]:
    """Yield the reports at ``paths``, verified, and say of each whether it is. Raises BadInput."""
    read = reader(keys, fresh=fresh, project=project)
    for path in paths:
        report = read.read(path)
        earlier = " (verified before, and unchanged since)" if report.kept else ""
        say(f"{report.name}: {report.note}{earlier}")
        yield report


def reader(
    keys: Sequence[Path] | None, *, fresh: bool = False, project: Path | None = None
) -> ReportReader:
    """Return what reads reports with this checkout's eyes; ``fresh``: nothing that was kept counts.

    The keys of a ``project`` count for its reports, beside this checkout's. Whose margins a report
    was judged by fails nothing: reports of other checkouts are compared, too.
    """

    def verify(directory: Path, log: VerificationLog) -> None:
        rules = Policy(checkout.ROOT, accepted=True)
        check_report(directory, keys, project, rules, log)

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

    def speaking(root: Path) -> list[Path]:
        return [path for path in published_reports(root) if may_speak_of(path, claim)]

    if ours := speaking(checkout.ROOT):
        return ours
    projects = sorted(path.parent for path in checkout.ROOT.glob(f"projects/*/{PROJECT_FILE}"))
    found = {each.name: carried for each in projects if (carried := speaking(each))}
    if len(found) > 1:
        named = " and ".join(found)
        raise BadInput(f"'{claim}' is a claim of the projects {named}: --project DIR names one")
    return next(iter(found.values()), [])

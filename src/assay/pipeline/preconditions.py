"""Preconditions of a run on its machine, looked for before anything is planned or begun."""

from collections.abc import Collection, Sequence
from pathlib import Path

from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.base.progress import say
from assay.base.writable import why_not_writable
from assay.building.toolchain import find_host_compiler
from assay.evidence.stages import plan_path
from assay.pipeline.run_files import REPORTS, RESULTS, report_path, require_own_places
from assay.records.attestation import ATTESTATION
from assay.records.plan import Plan, Request
from assay.report.replaceable import require_replaceable
from assay.shared.counting import counted
from assay.verification.sign import require_key_place

LOCAL = "local"
"""The run that is meant where none is named."""


def require_places(root: Path, run: str, key: Path | None) -> None:
    """Raise MissingEnvironment where a run's files, and the ``key`` that signs, find no place;
    BadInput where that is a link, or holds what is no report.
    """
    require_own_places(root, run)
    for folder in (RESULTS, REPORTS):
        if (root / folder).exists() and not (root / folder).is_dir():
            raise BadInput(f"{root / folder} is a file, and a run needs a folder: move it away")
        if (why := why_not_writable(root / folder / run)) is not None:
            raise MissingEnvironment(
                f"a run writes below {root / folder}, and cannot ({why}): make {root} writable, "
                "or run from a copy of it"
            )
    require_replaceable(root / REPORTS / run)
    if key is not None:
        require_key_place(key)


def name_of_run(home: Path, named: Sequence[str], claims: Collection[str]) -> str:
    """Return LOCAL, or the first of the ``named`` claims or sources, whose claims are ``claims``,
    where LOCAL's signed report has others, too.
    """
    earlier = _signed_plan(home / REPORTS / LOCAL) if named else None
    more = earlier is not None and {each.claim for each in earlier.answers}.difference(claims)
    return named[0] if more else LOCAL


def _signed_plan(report: Path) -> Plan | None:
    """Return the plan of a signed report; None where there is none, or one nobody can verify."""
    if not (report / ATTESTATION).is_file():
        return None
    try:
        return read_record(Plan, report / "evidence" / plan_path())
    except (BadInput, CheckFailed):
        return None


def require_kept_report(root: Path, request: Request, plan: Plan, *, narrowed: bool) -> None:
    """Raise BadInput where a signed report has claims that this run leaves out, deleted ones too.
    ``narrowed``: targets were named, so that the report's count as well.
    """
    earlier = _signed_plan(root / report_path(request))
    if earlier is None:
        return
    claims = {each.claim for each in earlier.answers}
    lost = claims - {each.claim for each in plan.answers}
    targets = {each.target for each in earlier.targets} - {each.target for each in plan.targets}
    if lost:
        what = f"{len(lost)} of its {counted(len(claims), 'claim')}"
    elif narrowed and targets:
        what = f"its figures on {', '.join(sorted(targets))}"
    else:
        return
    raise BadInput(
        f"{report_path(request)} is a signed report, and this run would replace it without {what}: "
        "name another with --run NAME, or move it away"
    )


def require_compiler(request: Request, plan: Plan, *, starts: bool = True) -> None:
    """Raise MissingEnvironment where the host lacks a needed compiler; a dry run only says so."""
    if request.runtime == "host" and request.prebuilt is None and plan.builds:
        try:
            find_host_compiler()
        except MissingEnvironment as error:
            if starts:
                raise
            say(str(error))

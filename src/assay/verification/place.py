"""Whether a report lies under the name of its run, which is what people look it up by."""

from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.errors import CheckFailed
from assay.verification.report_archive import report_name


def check_place(log: CheckLog, report: Path, run: str, repository: Path | None) -> None:
    """Hold the name of a report's directory, or of its archive, against the run that was signed.

    Among a checkout's own reports another name fails, a link's as well as that of what it leads to.
    Anywhere else a copy may be called anything: what its name says is then not proven.
    """
    places = [report.parent.resolve() / report.name, report.resolve()]
    if report.name in ("", ".."):
        places = places[1:]
    other = [place for place in places if report_name(place) != run]
    if not other:
        return
    ours = repository / "reports" if repository is not None else None
    folders = {each.resolve() for each in (ours, ours / "published")} if ours is not None else set()
    with log.check("name") as says:
        for place in other:
            problem = f"it lies as '{report_name(place)}' and is the report of run '{run}'"
            if place.parent in folders:
                raise CheckFailed(problem, code="run-name")
        says("")
        says.leave([f"the name: it lies as '{report_name(other[0])}' and is the report of '{run}'"])

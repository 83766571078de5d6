"""The checks ``sources`` and ``rebuild``: what compiling a report's builds again comes to."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from assay.base.check_log import CheckLog, failed_check, listed, passed_check
from assay.base.errors import CheckFailed
from assay.shared.counting import agreeing, counted
from assay.verification.rebuild import RebuildResult, Rebuilt
from assay.verification.rebuild_outcome import PROVEN, RebuildStatus

SAME_DEVICE_CODE = {
    RebuildStatus.CUBINS_IDENTICAL: "",
    RebuildStatus.LINE_TABLES_DIFFER: ", but for line tables, which name headers of the host "
    "compiler",
}
"""Outcomes by which other host code is excused, with what else they excuse."""
NOT_LOOKED_FOR = (RebuildStatus.COMMAND_REFUSED, RebuildStatus.TOOLCHAIN_DIFFERS)
"""Outcomes before any source is looked for."""


def conclude(log: CheckLog, report_dir: Path, result: RebuildResult) -> None:
    """Take up what a rebuild comes to, as two checks. Raises CheckFailed of builds."""
    missing = [build for build in result.builds if build.status is RebuildStatus.SOURCE_MISSING]
    failed = [build for build in result.builds if build.status not in PROVEN]
    _conclude_sources(log, result, missing)
    others = [f"{build.name}: {build.status}" for build in failed if build not in missing]
    if others:
        log.add(failed_check("rebuild", listed(others)))
    elif missing:
        log.skip(("rebuild",), f"sources of {counted(len(missing), 'build')} are missing")
    else:
        log.add(passed_check("rebuild", _compiled(result), _left_open(result)))
    if failed:
        lines = [f"\n  {build.name}: {build.status}: {build.detail}" for build in failed]
        raise CheckFailed(
            f"{report_dir}: {len(failed)} of {counted(len(result.builds), 'build')} "
            f"{agreeing(len(failed), 'is', 'are')} not shown to come "
            f"from their sources:{''.join(lines)}{_remedy(failed, result.commit)}",
            code="rebuild" if others else "source-missing",
        )


def _conclude_sources(log: CheckLog, result: RebuildResult, missing: Sequence[Rebuilt]) -> None:
    """Take up whether the sources that the build records name are there, by SHA-256."""
    if missing:
        told = listed([f"{build.name}: {build.detail}" for build in missing])
        log.add(failed_check("sources", told, code="source-missing"))
        return
    unread = [build.name for build in result.builds if build.status in NOT_LOOKED_FOR]
    found = counted(len(result.builds) - len(unread), "build")
    left = [f"where the sources of {listed(unread)} are"] if unread else []
    says = f"those of {found} are this checkout's or its history's, by SHA-256"
    log.add(passed_check("sources", says, left))


def _compiled(result: RebuildResult) -> str:
    """Say how many builds came to what."""
    counts = Counter(build.status for build in result.builds)
    told = ", ".join(f"{counts[status]} {status}" for status in RebuildStatus if counts[status])
    builds = counted(len(result.builds), "build")
    measured = sum(build.measured for build in result.builds)
    rest = f"; measurements rest on {measured} of them" if measured else ""
    return f"{builds} compiled from source: {told or 'there are none'}{rest}"


def _left_open(result: RebuildResult) -> list[str]:
    """Return what compiling does not show: other host code, binaries and builds left out."""
    left = _host_code(result.builds)
    if result.left_out:
        left.append(f"what {counted(result.left_out, 'build')} came of, which --only left out")
    return left


def _host_code(builds: Sequence[Rebuilt]) -> list[str]:
    """A line for every reason why host code differs, and what of it is in the device code."""
    reasons: dict[tuple[RebuildStatus, str], list[str]] = {}
    for build in builds:
        if build.status in SAME_DEVICE_CODE:
            reasons.setdefault((build.status, build.detail), []).append(build.name)
    return [
        f"{counted(len(names), 'build')} {agreeing(len(names), 'has', 'have')} the same device "
        f"code, byte for byte{SAME_DEVICE_CODE[status]}; {agreeing(len(names), 'its', 'their')} "
        f"host code is other ({reason}) and is not shown to come from these sources: "
        f"{listed(names)}"
        for (status, reason), names in reasons.items()
    ]


def _remedy(failed: Sequence[Rebuilt], commit: str | None) -> str:
    ours = {RebuildStatus.SOURCE_MISSING, RebuildStatus.TOOLCHAIN_DIFFERS}
    if commit is None or not any(build.status in ours for build in failed):
        return ""
    return f"\n  the report was made by commit {commit}: check that out and rebuild there"

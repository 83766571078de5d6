"""The reports that a repository publishes, by what they say of themselves: nothing verifies it."""

import base64
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from assay.base.errors import AssayError
from assay.evidence.stages import plan_path
from assay.records.manifest import ATTESTATION, MANIFEST
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import MOST_DOCUMENT, whole_file_bytes
from assay.verification.report_archive import SUFFIX, is_archive, read_archive, report_name

UNREADABLE = (OSError, ValueError, AssayError, KeyError, TypeError, AttributeError)
PLAN = f"evidence/{plan_path()}"


def published_reports(
    root: Path, claims: Collection[str] | None = None, project: Path | None = None
) -> list[Path]:
    """Return reports that belong to the repository, and to a ``project`` where one is given: the
    one that measured most of ``claims`` first (None: of all that there are), and of such as
    measured as many, the one signed last.

    ``claims``: ids of claims, and of the comparisons and programs that answer them: of a project's
    claims no report of ours knows any.

    Directories or archives of such: to be read through ``opened_report``.
    """
    found = [
        report
        for home in dict.fromkeys(filter(None, (root, project)))
        for report in reports_in(home / "reports" / "published")
    ]
    keys = {path: (_measured(path, claims), _created(path), report_name(path)) for path in found}
    return sorted(found, key=keys.__getitem__, reverse=True)


def reports_in(folder: Path) -> list[Path]:
    """Return the directories and archives of reports in a folder, by name."""
    found = [path.parent for path in folder.glob(f"*/{MANIFEST}")]
    return sorted([*found, *filter(is_archive, folder.glob(f"*{SUFFIX}"))])


def may_speak_of(report: Path, claim: str) -> bool:
    """Return whether a report's plan names a claim; of one that cannot be read nobody knows."""
    try:
        return any(each["claim"] == claim for each in _document(report, PLAN)["answers"])
    except UNREADABLE:
        return True


def may_measure(report: Path, targets: Collection[str]) -> bool:
    """Return whether a report's plan has figures of one of ``targets``; of one that cannot be read
    nobody knows.
    """
    try:
        return any(
            each["target"] in targets and each["provision"]["kind"] != "none"
            for each in _document(report, PLAN)["targets"]
        )
    except UNREADABLE:
        return True


def _measured(report: Path, claims: Collection[str] | None) -> int:
    """Return how many claims a report's plan has measured; 0 where it cannot be read."""
    try:
        plan = _document(report, PLAN)
        ways = ("measure", "recorded")
        measured = {each["claim"] for each in plan["answers"] if each["way"] in ways}
        if claims is None:
            return len(measured)
        targets = plan.get("targets", ())
        there = {name for target in targets for name in target["comparisons"]}
        there |= {job["id"] for target in targets for job in target["programs"]}
        return len((measured | there).intersection(claims))
    except UNREADABLE:
        return 0


def _created(report: Path) -> str:
    """Return when a report says that it was signed; empty where it cannot be read."""
    try:
        payload = base64.b64decode(_document(report, ATTESTATION)["payload"])
        return str(parse_bounded(payload)["predicate"]["created"])
    except UNREADABLE:
        return ""


def _document(report: Path, name: str) -> Any:
    """Return a JSON document of a report. Raises one of UNREADABLE."""
    if is_archive(report):
        return parse_bounded(_of_archive(report, report.stat().st_mtime_ns)[name])
    return parse_bounded(whole_file_bytes(report / name, MOST_DOCUMENT))


@cache
def _of_archive(report: Path, changed_ns: int) -> Mapping[str, bytes]:
    """Return both, unpacked once a process while the archive is as it was at ``changed_ns``."""
    files = read_archive(report)
    return {name: files[name] for name in (PLAN, ATTESTATION) if name in files}

"""The repository's own: the reports that it publishes."""

import base64
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from assay.base.errors import AssayError
from assay.evidence.stages import plan_path
from assay.records.manifest import ATTESTATION, MANIFEST
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE, whole_file_bytes
from assay.verification.report_archive import SUFFIX, is_archive, read_archive, report_name

UNREADABLE = (OSError, ValueError, AssayError, KeyError, TypeError, AttributeError)
PLAN = f"evidence/{plan_path()}"


def published_reports(
    root: Path, claims: Collection[str] | None = None, project: Path | None = None
) -> list[Path]:
    """Return reports that belong to the repository, and to a ``project`` where one is given: the
    one that measured most of ``claims`` first (None: of all that there are), and of such as
    measured as many, the one signed last.

    ``claims``: ids of claims or, for a project, of which no report of ours knows any, of the
    comparisons that answer its own.

    Directories or archives of such: to be read through ``opened_report``.
    """
    found = [
        report
        for home in dict.fromkeys(filter(None, (root, project)))
        for report in reports_in(home / "reports" / "published")
    ]
    told = {path: _told(path, claims) for path in found}
    return sorted(found, key=lambda path: (told[path], report_name(path)), reverse=True)


def reports_in(folder: Path) -> list[Path]:
    """Return the directories and archives of reports in a folder, by name."""
    found = [path.parent for path in folder.glob(f"*/{MANIFEST}")]
    return sorted([*found, *filter(is_archive, folder.glob(f"*{SUFFIX}"))])


def may_speak_of(report: Path, claim: str) -> bool:
    """Return whether a report's plan names a claim; of one that cannot be read nobody knows.

    Nothing has verified it yet: it is a reason to read it, or not to.
    """
    try:
        return any(each["claim"] == claim for each in _plan(report)["answers"])
    except UNREADABLE:
        return True


def _told(report: Path, claims: Collection[str] | None) -> tuple[int, str]:
    """How many claims a report says that it measured, and when it says that it was signed; nothing
    has verified it yet, and nothing but order follows.

    Nothing, and empty, where it cannot be read: whoever verifies the report will say why.
    """
    try:
        plan, envelope = _plan_and_envelope(report)
    except (OSError, ValueError, AssayError):
        return 0, ""
    return _measured(plan, claims), _signed_at(envelope)


def may_measure(report: Path, targets: Collection[str]) -> bool:
    """Return whether a report's plan has figures of one of ``targets``; of one that cannot be read
    nobody knows. Nothing has verified it yet: it is a reason to open it, or not to.
    """
    try:
        planned = _plan(report)["targets"]
        return any(
            each["target"] in targets and each["provision"]["kind"] != "none" for each in planned
        )
    except UNREADABLE:
        return True


def _plan(report: Path) -> Any:
    return parse_bounded(_plan_and_envelope(report)[0])


def _plan_and_envelope(report: Path) -> tuple[bytes, bytes]:
    """Return the bytes of both, empty where they are not there. Raises where they cannot be read:
    OSError, ValueError or AssayError.
    """
    if is_archive(report):
        return _of_archive(report, report.stat().st_mtime_ns)
    envelope = whole_file_bytes(report / ATTESTATION, MOST_ENVELOPE)
    there = (report / PLAN).is_file()
    return whole_file_bytes(report / PLAN, MOST_DOCUMENT) if there else b"", envelope


@cache
def _of_archive(report: Path, changed_ns: int) -> tuple[bytes, bytes]:
    """Return both, unpacked once a process while the archive is as it was at ``changed_ns``."""
    files = read_archive(report)
    return files.get(PLAN, b""), files.get(ATTESTATION, b"")


def _measured(plan: bytes, claims: Collection[str] | None) -> int:
    try:
        document = parse_bounded(plan)
        answers, targets = document["answers"], document.get("targets", ())
        measured = {each["claim"] for each in answers if each["way"] in ("measure", "recorded")}
        if claims is None:
            return len(measured)
        there = {name for target in targets for name in target["comparisons"]}
        return len((measured | there).intersection(claims))
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0


def _signed_at(envelope: bytes) -> str:
    try:
        payload = base64.b64decode(parse_bounded(envelope)["payload"])
        created = parse_bounded(payload)["predicate"]["created"]
    except (ValueError, KeyError, TypeError):
        return ""
    return created if isinstance(created, str) else ""

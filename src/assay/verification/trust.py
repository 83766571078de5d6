"""The reports that a repository publishes, by what they say of themselves: nothing verifies it."""

import base64
from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from assay.base.errors import AssayError
from assay.records.attestation import ATTESTATION, MANIFEST
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import MOST_DOCUMENT, whole_file_bytes
from assay.verification.report_archive import (
    PLAN,
    SUFFIX,
    archived_documents,
    is_archive,
    report_name,
)

PUBLISHED = Path("reports/published")
"""In a repository or a project; its own runs' reports lie beside it."""
UNREADABLE = (OSError, ValueError, AssayError, KeyError, TypeError, AttributeError)
UNMEASURED = ("not_run", "consistent", "inconsistent")
"""Verdicts that no measurement answers."""


def published_reports(root: Path) -> list[Path]:
    """Return the repository's reports: the one with most measured verdicts first, and of such with
    as many the one signed last.

    Directories or archives of such: to be read through ``opened_report``.
    """
    return list(_by_statement(reports_in(root / PUBLISHED)))


def project_reports(project: Path) -> list[Path]:
    """Return the reports of a project, in the same order: its own runs', and those it publishes."""
    folders = (project / PUBLISHED, project / PUBLISHED.parent)
    return list(_by_statement(chain.from_iterable(map(reports_in, folders))))


def reports_measuring(
    root: Path, asked: Collection[str], targets: Collection[str], project: Path | None = None
) -> list[Path]:
    """Return published reports that measured any of ``asked``, most of it on ``targets`` first.

    Archives are history: they are unpacked only where none that lies unpacked answers any of this.
    ``asked``: ids of claims, and of the comparisons and programs that answer them: of a project's
    claims no report of ours knows any.
    """
    homes = filter(None, (root, project))
    every = [report for home in homes for report in reports_in(home / PUBLISHED)]
    unpacked = [report for report in every if not is_archive(report)]
    found = {report: _measured(report, asked, targets) for report in unpacked}
    if not any(answers for _, answers in found.values()):
        found = {report: _measured(report, asked, targets) for report in every}
    some = _by_statement(report for report in found if found[report] != (0, 0))
    return sorted(some, key=lambda each: (found[each][0], some[each][1]), reverse=True)


def _by_statement(reports: Iterable[Path]) -> dict[Path, tuple[int, str, str]]:
    """Return what each report states (see ``_stated``) and its name, in the order of these."""
    found = {report: (*_stated(report), report_name(report)) for report in reports}
    return dict(sorted(found.items(), key=lambda each: each[1], reverse=True))


def reports_in(folder: Path) -> list[Path]:
    """Return the directories and archives of reports in a folder, by name."""
    found = [path.parent for path in folder.glob(f"*/{MANIFEST}")]
    return sorted([*found, *filter(is_archive, folder.glob(f"*{SUFFIX}"))])


def may_speak_of(report: Path, claims: Collection[str]) -> bool:
    """Return whether a report's plan names one of ``claims``; of one that cannot be read nobody
    knows.
    """
    try:
        return any(each["claim"] in claims for each in _document(report, PLAN)["answers"])
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


def _measured(report: Path, asked: Collection[str], targets: Collection[str]) -> tuple[int, int]:
    """Return how much of ``asked`` a report's plan has measured, and how many answers those are on
    ``targets``; none where it cannot be read.
    """
    try:
        plan = _document(report, PLAN)
        answers = [
            each["claim"]
            for each in plan["answers"]
            if each["claim"] in asked and each["way"] in ("measure", "recorded")
            if each["target"] in targets
        ]
        ran = {name for each in plan.get("targets", ()) for name in each["comparisons"]}
        ran |= {job["id"] for each in plan.get("targets", ()) for job in each["programs"]}
    except UNREADABLE:
        return 0, 0
    return len(ran.intersection(asked).union(answers)), len(answers)


def _stated(report: Path) -> tuple[int, str]:
    """Return how many measured verdicts a report states, and when it says that it was signed; 0 and
    nothing where it cannot be read.
    """
    try:
        payload = base64.b64decode(_document(report, ATTESTATION)["payload"])
        stated = parse_bounded(payload)["predicate"]
        counts = stated["verdicts"].items()
        measured = sum(count for status, count in counts if status not in UNMEASURED)
        return measured, str(stated["created"])
    except UNREADABLE:
        return 0, ""


def _document(report: Path, name: str) -> Any:
    """Return one of a report's ``DOCUMENTS`` as JSON. Raises one of UNREADABLE."""
    if is_archive(report):
        return parse_bounded(archived_documents(report)[name])
    return parse_bounded(whole_file_bytes(report / name, MOST_DOCUMENT))

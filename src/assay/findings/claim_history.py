"""One claim through many reports: each run and card, and what changed between them. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from assay.records.report_figures import ReportFigure, ReportFigures, ReportMachine

PARTS = ("card", "driver", "commit", "protocol", "question", "rules")
"""What may change beside the status, in the order in which it is told."""


@dataclass(frozen=True)
class HistoryEntry:
    """What one report says of a claim on one target."""

    place: int
    """Number of the report among those that were given, from 0."""
    target: str
    """Empty for what no GPU answers."""
    figure: ReportFigure
    machine: ReportMachine | None
    """None where it was not measured."""
    at: str
    """When the machine was recorded; of what was not measured, when the report was signed."""
    rules: int
    before: str | None = None
    """The status of the entry before, where that is another."""
    changed: tuple[str, ...] = ()
    """What else is another than in the entry before: names from ``PARTS``."""


def claim_history(claim: str, reports: Iterable[ReportFigures]) -> list[HistoryEntry]:
    """Return what reports say of a claim, target by target, in the order of measuring.

    Several reports of one measurement stand in the order in which they were signed.
    """
    found = [
        entry
        for place, report in enumerate(reports)
        for entry in report_entries(place, report)
        if entry.figure.claim == claim
    ]
    return in_order(found)


def report_entries(place: int, report: ReportFigures) -> Iterator[HistoryEntry]:
    """Yield what a report says of each claim."""
    machines = {machine.target: machine for machine in report.machines}
    for figure in report.figures:
        measured = figure.measured is not None and figure.target is not None
        machine = machines.get(figure.target or "") if measured else None
        yield HistoryEntry(
            place,
            figure.target or "",
            figure,
            machine,
            at=machine.recorded_at if machine else report.created or "",
            rules=report.rules,
        )


def in_order(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    """Return entries of one claim in their order, each with what changed before it."""
    ordered = sorted(entries, key=lambda each: (each.target, each.at, each.place))
    found = []
    for _, group in groupby(ordered, key=lambda each: each.target):
        last: HistoryEntry | None = None
        for entry in group:
            found.append(entry if last is None else _after(last, entry))
            last = entry
    return found


def _after(last: HistoryEntry, entry: HistoryEntry) -> HistoryEntry:
    one, two = _conditions(last), _conditions(entry)
    status = last.figure.status.value
    return HistoryEntry(
        entry.place,
        entry.target,
        entry.figure,
        entry.machine,
        entry.at,
        entry.rules,
        before=None if entry.figure.status is last.figure.status else status,
        changed=tuple(
            name
            for name, first, second in zip(PARTS, one, two, strict=True)
            if None not in (first, second) and first != second
        ),
    )


def _conditions(entry: HistoryEntry) -> tuple[object, ...]:
    on, figure = entry.machine, entry.figure
    return (
        on and on.gpu_uuid,
        on and on.driver,
        on and on.commit,
        figure.protocol,
        figure.question,
        entry.rules,
    )

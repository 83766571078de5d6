"""One claim through many reports: each measurement once, and what changed between them. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from assay.records.report_figures import ReportFigure, ReportFigures, ReportMachine

QUESTION = "what was measured"
PARTS = ("card", "driver", "commit", "protocol", QUESTION, "rules")
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
    signed: str
    """When the report was signed."""
    rules: int

    @property
    def at(self) -> str:
        """Return when the machine was recorded; of what was not measured, when the report was
        signed.
        """
        return self.machine.recorded_at if self.machine else self.signed


@dataclass(frozen=True)
class HistoryLine:
    """One measurement with every report that carries it; of what was not measured, what several
    reports say in the same words.
    """

    entries: tuple[HistoryEntry, ...]
    """In the order in which the reports were signed: the last one's verdict is the line's."""
    before: str | None = None
    """How the line before came out, in words, where that is another way."""
    changed: tuple[str, ...] = ()
    """What else is another than in the line before: names from ``PARTS``."""

    @property
    def last(self) -> HistoryEntry:
        """Return what the report says that was signed last."""
        return self.entries[-1]

    @property
    def by_run(self) -> tuple[tuple[HistoryEntry, ...], tuple[HistoryEntry, ...]]:
        """Return the reports whose own run says it, and those that took it over from another."""
        own = tuple(entry for entry in self.entries if not entry.figure.taken_over)
        return own, tuple(entry for entry in self.entries if entry.figure.taken_over)

    def judged_otherwise(self) -> Iterator[str]:
        """Yield in words how earlier reports judged the same measurement otherwise, each once."""
        seen = {self.last.figure.said}
        for entry in reversed(self.entries):
            if entry.figure.said not in seen:
                seen.add(entry.figure.said)
                yield f"{entry.figure.said} by rules {entry.rules}"


def claim_history(claim: str, reports: Iterable[ReportFigures]) -> list[HistoryLine]:
    """Return what reports say of a claim, target by target, the oldest measurement first."""
    entries = (each for n, report in enumerate(reports) for each in report_entries(n, report))
    return in_order(entry for entry in entries if entry.figure.claim == claim)


def report_entries(place: int, report: ReportFigures) -> Iterator[HistoryEntry]:
    """Yield what a report says of each claim."""
    for figure in report.figures:
        measured = figure.measured is not None and figure.target is not None
        yield HistoryEntry(
            place,
            figure.target or "",
            figure,
            report.machine(figure) if measured else None,
            signed=report.created or "",
            rules=report.rules,
        )


def in_order(entries: Iterable[HistoryEntry]) -> list[HistoryLine]:
    """Return entries of one claim as lines in their order, each with what changed before it."""
    groups: dict[tuple[object, ...], list[HistoryEntry]] = {}
    for entry in sorted(entries, key=lambda each: (each.signed, each.place)):
        groups.setdefault(_carried(entry), []).append(entry)
    ordered = sorted(groups.values(), key=lambda of: (of[0].target, of[0].at, of[0].place))
    found = []
    answered: dict[str, HistoryEntry] = {}
    for line in (HistoryLine(tuple(group)) for group in ordered):
        entry = line.last
        before = answered.get(entry.target) if entry.figure.answered else None
        found.append(_after(before, line) if before else line)
        if entry.figure.answered:
            answered[entry.target] = entry
    return found


def _carried(entry: HistoryEntry) -> tuple[object, ...]:
    """Return what entries of one line share."""
    if entry.machine is not None:
        return (entry.target, *entry.machine.measurement)
    figure = entry.figure
    return entry.target, figure.status, figure.reason, figure.measured


def _after(last: HistoryEntry, line: HistoryLine) -> HistoryLine:
    entry = line.last
    pairs = zip(PARTS, _conditions(last), _conditions(entry), strict=True)
    return replace(
        line,
        before=None if entry.figure.said == last.figure.said else last.figure.said,
        changed=tuple(n for n, one, two in pairs if None not in (one, two) and one != two),
    )


def _conditions(entry: HistoryEntry) -> tuple[object, ...]:
    on, figure = entry.machine, entry.figure
    card = (on.gpu_uuid, on.driver, on.commit) if on else (None, None, None)
    return *card, figure.protocol, figure.question, entry.rules

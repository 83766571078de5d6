"""Readings of a verdict, ready to print: under which meaning of the words is a figure true?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.findings.work_done import WorkDone
from assay.records.verdicts import Verdict, VerdictReading
from assay.report import formatting as fmt

HOLDS = {True: "yes", False: "no", None: "open"}


@dataclass(frozen=True)
class ReadingRow:
    """One reading."""

    says: str
    primary: bool
    measured: str
    interval: str | None
    products: str
    done: str
    counted: str
    factor: str
    holds: str
    reason: str | None
    """Why there is no figure, or why a ratio that fits does not hold."""


@dataclass(frozen=True)
class ReadingTable:
    """All readings of one verdict, the primary one first."""

    rows: tuple[ReadingRow, ...]
    shows_products: bool
    shows_work: bool
    shows_factor: bool
    """Whether any reading counts other work than is done."""


def reading_table(verdict: Verdict, work: Mapping[str, WorkDone]) -> ReadingTable | None:
    """Return the table of a verdict's readings; None where its words have but one."""
    if not verdict.readings:
        return None
    rows = tuple(_row(verdict, reading, work.get(reading.id)) for reading in verdict.readings)
    return ReadingTable(
        rows=rows,
        shows_products=any(row.products != fmt.NOTHING for row in rows),
        shows_work=any(row.done != fmt.NOTHING for row in rows),
        shows_factor=any(reading.work_ratio not in (None, 1) for reading in verdict.readings),
    )


def in_short(
    table: ReadingTable | None, first: ReadingTable | None, claim: str | None = None
) -> ReadingTable | None:
    """Return a table whose readings are named by their number in ``first``, where that has them.

    ``claim`` is the one that ``first`` belongs to, where it is another.
    """
    if table is None or first is None:
        return table
    of = f" of {claim}" if claim else ""
    places = {row.says: place for place, row in enumerate(first.rows, start=1)}
    rows = tuple(
        replace(row, says=f"reading {places[row.says]}{of}") if row.says in places else row
        for row in table.rows
    )
    return replace(table, rows=rows)


def _row(verdict: Verdict, reading: VerdictReading, work: WorkDone | None) -> ReadingRow:
    ratio = reading.work_ratio
    return ReadingRow(
        says=reading.says,
        primary=reading.primary,
        measured=fmt.figure(reading.measured, verdict.unit, verdict.claimed),
        interval=fmt.interval_of(reading.measured, verdict.unit, reading.ci90, verdict.claimed),
        products=_products(work),
        done=fmt.operations(work.flop) if work else fmt.NOTHING,
        counted=fmt.operations(work.counted_flop if work else None),
        factor=fmt.NOTHING if ratio is None else fmt.short(ratio),
        holds=HOLDS[reading.holds] if reading.measured is not None else "not measured",
        reason=reading.reason,
    )


def _products(work: WorkDone | None) -> str:
    if work is None or work.products is None:
        return fmt.NOTHING
    whole = fmt.whole(work.products)
    return f"{whole} of {fmt.whole(work.true_products)}" if work.misses_products else whole

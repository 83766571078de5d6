"""The report's counts: one table by kind and source, and the same in sentences."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.findings.run_summary import RunSummary
from assay.judging.counts import KINDS, Tally, VerdictCounts
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.shared.counting import agreeing, counted


@dataclass(frozen=True)
class CountRow:
    """One kind of claim, or one source of a kind."""

    label: str
    source: str | None
    """None for a kind as a whole."""
    cells: tuple[str, ...]


@dataclass(frozen=True)
class CountTable:
    """Measurements by status, kind and source."""

    statuses: tuple[tuple[str, str], ...]
    """(status, in words)."""
    rows: tuple[CountRow, ...]


def count_table(sources: Iterable[str], summary: RunSummary) -> CountTable:
    """Return statuses that occur as columns; a row a kind, its sources below; a zero is a dash."""
    seen = summary.counts.statuses()
    rows = []
    for kind, tally in summary.counts.by_kind().items():
        if not tally:
            continue
        rows.append(CountRow(capital(KINDS[kind]), None, _cells(tally, seen)))
        parts = [(s, summary.counts_of[s].by_kind()[kind]) for s in sources]
        parts = [(source, part) for source, part in parts if part]
        if len(parts) > 1:
            rows += [CountRow(source, source, _cells(part, seen)) for source, part in parts]
    return CountTable(tuple((status.value, status.word) for status in seen), tuple(rows))


def _cells(tally: Tally, seen: Iterable[Status]) -> tuple[str, ...]:
    return tuple(str(tally[s]) if tally.get(s) else fmt.NOTHING for s in seen)


def told(tally: Tally) -> str:
    """Return a tally in words: ``5 reproduced, 2 exceeded``."""
    return ", ".join(f"{count} {status.word}" for status, count in tally.items())


def told_counts(counts: VerdictCounts) -> str:
    """Return every kind's tally in one line; empty where nothing was counted."""
    parts = [f"{KINDS[kind]}: {told(tally)}" for kind, tally in counts.by_kind().items() if tally]
    return f"{capital('; '.join(parts))}." if parts else ""


def capital(text: str) -> str:
    """Return a text that begins a sentence."""
    return text[:1].upper() + text[1:]


def elsewhere_lines(catalog: Catalog, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return one line a GPU that stood in for others: what the sources of its figures name.

    Said once for the page: no row repeats it. However sources spell a GPU, it is named by its
    product.
    """
    named: dict[str, dict[str, set[str]]] = {}
    there: set[str] = set()
    for verdict in verdicts:
        if verdict.status is Status.ELSEWHERE and verdict.measured_on and verdict.target:
            claim = catalog.claims[verdict.claim]
            stated = " or ".join(catalog.targets[name].product for name in claim.hardware.targets)
            on = named.setdefault(verdict.measured_on.product, {})
            on.setdefault(stated, set()).add(verdict.claim)
        elif verdict.status is not Status.NOT_RUN:
            there.add(verdict.claim)
    return tuple(_elsewhere_line(product, stated, there) for product, stated in named.items())


def _elsewhere_line(product: str, stated: dict[str, set[str]], there: set[str]) -> str:
    names = " and ".join(f"{name} ({counted(len(c), 'claim')})" for name, c in stated.items())
    both = sum(len(claims & there) for claims in stated.values())
    line = (
        f"Measured on {product}; the source names {names}. Such figures are {Status.ELSEWHERE.word}"
        ": shown with what they would be on the hardware named, and not judged."
    )
    if both:
        line += (
            f" {both} of them {agreeing(both, 'stands', 'stand')} beside a verdict on the hardware "
            "named, which is the one that counts."
        )
    return line

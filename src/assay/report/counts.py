"""The report's counts: by kind, status and source, in tables and in sentences, and the method's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.base.printable import capital
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.headline import KINDS, Outcome, causes, split, tally
from assay.records.claims import Hardware
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.formatting import Row
from assay.shared.counting import agreeing, counted
from assay.shared.limits import MAX_SAMPLES, MAX_SETTLING


def count_table(sources: Iterable[str], counted_things: Iterable[Outcome]) -> Row:
    """Return statuses that occur as columns; a row a kind, its sources below; a zero is a dash."""
    every = tuple(counted_things)
    seen = tuple(tally(every))
    rows: list[tuple[str, str | None, list[str]]] = []
    for kind, (_, many) in KINDS.items():
        of_kind = [each for each in every if each.kind == kind]
        if not of_kind:
            continue
        rows.append((capital(many), None, _cells(of_kind, seen)))
        parts = [(s, [each for each in of_kind if each.lead.source == s]) for s in sources]
        parts = [(source, part) for source, part in parts if part]
        if len(parts) > 1:
            rows += [(source, source, _cells(part, seen)) for source, part in parts]
    return {"headings": ("number", *(status.word for status in seen)), "rows": rows}


def _cells(counted_things: Sequence[Outcome], seen: Iterable[Status]) -> list[str]:
    found = tally(counted_things)
    return [str(len(counted_things)), *(str(found.get(s, fmt.NOTHING)) for s in seen)]


NAMED = "on the GPU the source names"


def told(numbers: Mapping[Status, int], away: Mapping[Status, int] | None = None) -> str:
    """Return a tally in words: ``3 reproduced (1 on the GPU the source names), 2 exceeded``.

    ``away``: how many of each were measured on another GPU alone.
    """
    words = status_words(numbers, away or {})
    return ", ".join(f"{count} {words[status]}" for status, count in numbers.items())


def came_out(counted_things: Iterable[Outcome]) -> str:
    """Return how things that count came out, in words."""
    found = split(counted_things)
    return told(found.statuses, found.away)


def status_words(
    numbers: Mapping[Status, int], away: Mapping[Status, int], named: str = f" {NAMED}"
) -> dict[Status, str]:
    """Return what stands behind each number of a tally: its status and, where some of it were
    measured on another GPU alone, in brackets how many were on the one ``named``, so called in the
    first; where that is empty, a number alone.
    """
    found, of = {}, named
    for status, count in numbers.items():
        there = ""
        if status in away:
            number = count - away[status] or ("none" if named else 0)
            there, of = f" ({number}{of})", ""
        found[status] = f"{status.word}{there}"
    return found


def elsewhere_lines(catalog: Catalog, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return one line a GPU that stood in for others: what the sources of its figures name.

    Said once for the page: no row repeats it. However sources spell a GPU, it is named by its
    product, if it has a target.
    """
    named: dict[str, dict[str, set[str]]] = {}
    there: set[str] = set()
    for verdict in verdicts:
        if verdict.status is Status.ELSEWHERE and verdict.measured_on and verdict.target:
            claim = catalog.claims[verdict.claim]
            stated = _named(catalog, claim.hardware)
            on = named.setdefault(verdict.measured_on.product, {})
            on.setdefault(stated, set()).add(verdict.claim)
        elif verdict.status is not Status.NOT_RUN:
            there.add(verdict.claim)
    return tuple(_elsewhere_line(product, stated, there) for product, stated in named.items())


def _named(catalog: Catalog, hardware: Hardware) -> str:
    """Return the GPU that a source names: by its product, or where none is here by its own word."""
    if hardware.stand_in and hardware.as_stated:
        return hardware.as_stated
    return " or ".join(catalog.targets[name].product for name in hardware.targets)


def _elsewhere_line(product: str, stated: dict[str, set[str]], there: set[str]) -> str:
    names = " and ".join(f"{name} ({counted(len(c), 'claim')})" for name, c in stated.items())
    both = sum(len(claims & there) for claims in stated.values())
    line = (
        f"Measured on {product}; the source names {names}. Such figures have a hollow mark and the "
        f"verdict that they would have on the GPU named; verdicts.json calls them "
        f"“{Status.ELSEWHERE.value}”."
    )
    if both:
        line += (
            f" {both} of them {agreeing(both, 'stands', 'stand')} beside a verdict on the hardware "
            "named, which is the one that counts."
        )
    return line


def idle_words(counted_things: Sequence[Outcome]) -> tuple[str, str] | None:
    """Return how many of what were not run, and by which causes; None where all were."""
    idle = [each for each in counted_things if each.status is Status.NOT_RUN]
    numbers = {kind: sum(each.kind == kind for each in idle) for kind in KINDS}
    what = " and ".join(counted(number, *KINDS[kind]) for kind, number in numbers.items() if number)
    listed = ", ".join(f"{count} {why.short}" for why, count in causes(idle).items())
    return (what, listed) if idle else None


def protocols(catalog: Catalog, evidence: Evidence) -> Iterator[Row]:
    """Yield the protocols that the plan's comparisons follow, each with the launches in ms that are
    too short to fill a turn, or to settle, within the limits.
    """
    plans = evidence.plan.targets
    names = {catalog.comparisons[name].protocol for plan in plans for name in plan.comparisons}
    for protocol in (catalog.protocols[name] for name in sorted(names)):
        fills = bool(protocol.turn_min_ms) and protocol.samples < MAX_SAMPLES
        yield {
            "protocol": protocol,
            "launches": "launches" if protocol.timer == "events" else "graphs",
            "most": MAX_SAMPLES,
            "short": f"{(protocol.turn_min_ms or 0) / MAX_SAMPLES:.3g}" if fills else None,
            "most_settling": MAX_SETTLING,
            "unsettled": f"{(protocol.settle_ms or 0) / MAX_SETTLING:.3g}",
        }

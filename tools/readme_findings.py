"""The README's findings: up to six sentences, made from a report's verdicts alone."""

import math
from collections.abc import Iterable, Iterator, Sequence

from assay.catalog.model import Catalog
from assay.judging.counts import Tally, VerdictCounts, count_verdicts, one_a_claim
from assay.judging.own_program import PRINTED
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict
from assay.report.counts import told
from assay.report.formatting import markdown, quantity, rough
from assay.shared.counting import agreeing, counted

SHOWN_OWN = 2
"""Figures of this project's own kernels that are named."""
SIGNS = {"at_least": "≥ ", "at_most": "≤ "}


def findings(catalog: Catalog, entries: Sequence[Verdict]) -> list[str]:
    """Return what the verdicts come to, each finding a sentence; none for what nobody has."""
    counts = count_verdicts(catalog, entries)
    counted_rows = [verdict for verdict in one_a_claim(entries) if _has_figure(verdict)]
    published = [verdict for verdict in counted_rows if not _own(catalog, verdict)]
    own = [verdict for verdict in counted_rows if _own(catalog, verdict)]
    return [
        *_misstated(catalog, counts, published),
        *_misstated_elsewhere(catalog, entries, published),
        *_not_reproduced(catalog, counts, published),
        *_exceeded(catalog, counts, published),
        *_own_kernels(catalog, counts, own),
        *_arithmetic(counts.arithmetic),
    ]


def outcome(verdict: Verdict) -> Status:
    """Return what a verdict is or, of a figure measured elsewhere, would be there."""
    return verdict.as_if or verdict.status


def claimed_text(verdict: Verdict) -> str:
    """Return the claimed figure with its relation and unit."""
    claimed = verdict.claimed
    return SIGNS.get(verdict.relation, "") + quantity(claimed, verdict.unit)


def factor_apart(verdict: Verdict) -> float:
    """Return by which factor claimed and measured figure differ, whichever is larger; 1 or more."""
    claimed, measured = _ratio(verdict.claimed, verdict), _ratio(verdict.measured, verdict)
    if claimed <= 0 or measured <= 0:
        return 1.0
    return math.exp(abs(math.log(measured / claimed)))


def _ratio(value: float | str | None, verdict: Verdict) -> float:
    if not isinstance(value, float):
        return 0.0
    return 1 + value / 100 if verdict.unit == Unit.PERCENT.value else value


def _has_figure(verdict: Verdict) -> bool:
    return verdict.ci90 is not None and isinstance(verdict.measured, float)


def _own(catalog: Catalog, verdict: Verdict) -> bool:
    return catalog.sources[verdict.source].source.file is None


def _furthest(rows: Iterable[Verdict], status: Status) -> Verdict | None:
    fitting = [row for row in rows if outcome(row) is status]
    return max(fitting, key=factor_apart, default=None)


def _named(catalog: Catalog, verdict: Verdict) -> str:
    claim = catalog.claims[verdict.claim]
    return f"*{markdown(claim.statement)}* ({verdict.source}:{claim.place.line})"


def _on(catalog: Catalog, verdict: Verdict) -> str:
    return f" on {catalog.targets[verdict.target].product}" if verdict.target else ""


def _apart(verdict: Verdict) -> str:
    rebuilt = " as rebuilt here" if verdict.artifact == "reimplemented" else ""
    return (
        f"claimed {claimed_text(verdict)}, measured "
        f"{quantity(verdict.measured, verdict.unit)}{rebuilt}, "
        f"a factor of {rough(factor_apart(verdict))}"
    )


def _of(counts: VerdictCounts, status: Status) -> int:
    return counts.published.get(status, 0) + counts.elsewhere.get(status, 0)


def _misstated(catalog: Catalog, counts: VerdictCounts, rows: Sequence[Verdict]) -> Iterator[str]:
    most = _furthest(rows, Status.MISSTATED)
    if most is None:
        return
    number_of = _of(counts, Status.MISSTATED)
    held = next((f" ({markdown(r.says)})" for r in most.readings if r.holds and not r.primary), "")
    yield (
        f"{counted(number_of, 'published figure')} {agreeing(number_of, 'is', 'are')} misstated: "
        f"had, but of other work than the source states{held}. Furthest: {_named(catalog, most)}, "
        f"{_apart(most)}."
    )


def _misstated_elsewhere(
    catalog: Catalog, entries: Iterable[Verdict], rows: Iterable[Verdict]
) -> Iterator[str]:
    """Of claims that count otherwise on their hardware, those misstated on another GPU."""
    told = {row.claim for row in rows if outcome(row) is Status.MISSTATED}
    away = [
        verdict
        for verdict in entries
        if verdict.as_if is Status.MISSTATED
        and verdict.claim not in told
        and _has_figure(verdict)
        and not _own(catalog, verdict)
    ]
    if not away:
        return
    most = max(away, key=lambda verdict: (_printed(verdict) is not None, factor_apart(verdict)))
    printed = _printed(most)
    program = (
        f", where the author's own program prints {quantity(printed, most.unit)}"
        if printed is not None
        else ""
    )
    claims = len({verdict.claim for verdict in away})
    yield (
        f"{counted(claims, 'more claim')} {agreeing(claims, 'is', 'are')} misstated as measured"
        f"{_on(catalog, most)}, which has readings that the hardware named has no figures of. "
        f"{_named(catalog, most)}: {_apart(most)}{program}."
    )


def _printed(verdict: Verdict) -> float | None:
    """Return what the source's own program printed, where the claimed figure is that."""
    held = (each for each in verdict.readings if each.id == PRINTED and each.holds)
    return next((each.measured for each in held), None)


def _not_reproduced(
    catalog: Catalog, counts: VerdictCounts, rows: Sequence[Verdict]
) -> Iterator[str]:
    most = _furthest(rows, Status.NOT_REPRODUCED)
    if most is None:
        return
    every = {**counts.published, **counts.elsewhere}
    measured = sum(_of(counts, status) for status in every if status is not Status.NOT_RUN)
    away = sum(counts.elsewhere.values())
    where = f" ({away} of them elsewhere than on the hardware named)" if away else ""
    number_of = _of(counts, Status.NOT_REPRODUCED)
    yield (
        f"Of {counted(measured, 'measurement')} of published speed figures{where}, {number_of} "
        f"{agreeing(number_of, 'is', 'are')} not reproduced. Furthest: {_named(catalog, most)}, "
        f"{_apart(most)}."
    )


def _exceeded(catalog: Catalog, counts: VerdictCounts, rows: Sequence[Verdict]) -> Iterator[str]:
    most = _furthest(rows, Status.EXCEEDED)
    if most is None:
        return
    number_of = _of(counts, Status.EXCEEDED)
    yield (
        f"{number_of} {agreeing(number_of, 'is', 'are')} exceeded, by most "
        f"{_named(catalog, most)}: {_apart(most)}."
    )


def _own_kernels(catalog: Catalog, counts: VerdictCounts, rows: Sequence[Verdict]) -> Iterator[str]:
    ratios = [row for row in rows if row.unit == Unit.RATIO.value]
    ranked = sorted(ratios, key=lambda row: -_ratio(row.measured, row))
    best = {row.claim: row for row in reversed(ranked)}  # of a claim's rows the best one
    if not best:
        return
    shown = sorted(best.values(), key=ranked.index)[:SHOWN_OWN]
    named = "; ".join(
        f"{_named(catalog, row)} {quantity(row.measured, row.unit)}{_on(catalog, row)} "
        f"(promised {claimed_text(row)}: {outcome(row).word})"
        for row in shown
    )
    yield (
        f"Of this project's own claims {told(counts.own)}. Its kernels over their rivals, best "
        f"first: {named}."
    )


def _arithmetic(tally: Tally) -> Iterator[str]:
    if wrong := tally.get(Status.INCONSISTENT, 0):
        yield (
            f"{wrong} of {counted(sum(tally.values()), 'relation')} between printed figures "
            f"{agreeing(wrong, 'does', 'do')} not hold by the sources' own digits."
        )

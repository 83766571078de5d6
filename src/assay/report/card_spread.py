"""Figures that several GPUs, cards or runs have: side by side, and how far they spread."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.card_spread import FigureSpread, causes, spreads
from assay.findings.report_comparison import apart_ci90
from assay.findings.report_figures import UNWRITTEN, report_figures
from assay.judging.counts import kind_of
from assay.records.units import Unit
from assay.records.verdicts import Verdict, VerdictsFile
from assay.report import formatting as fmt
from assay.report.claim_details import VerdictDetail
from assay.report.claims import ClaimLine
from assay.report.formatting import Fact, Row
from assay.shared.counting import counted

FAST: Mapping[str, int] = {Unit.TFLOP_PER_S: 1, Unit.GB_PER_S: 1, Unit.MS: -1}
"""Power to which a figure is raised before it says how fast something is. Verdicts are judged in
these units; a ratio of one GPU's kernels is no speed."""


def across_gpus(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    lines: Mapping[str, ClaimLine],
) -> Row | None:
    """Return the figures of claims that several GPUs have one of; None where none has."""
    found: dict[str, dict[str, Verdict]] = {}
    for verdict in verdicts:
        if verdict.ci90 is not None and verdict.target and kind_of(catalog, verdict) != "probes":
            found.setdefault(verdict.claim, {})[verdict.target] = verdict
    several = {claim: on for claim, on in found.items() if len(on) > 1}
    if not several:
        return None
    planned = [plan.target for plan in evidence.plan.targets]
    targets = [target for target in planned if any(target in on for on in several.values())]
    first, *others = targets
    names = [catalog.targets[target].product for target in targets]
    return {
        "gpus": names,
        "ratios": [f"{name} over {names[0]}" for name in names[1:]],
        "rows": [
            (
                lines[claim],
                [_cell(on.get(target)) for target in targets],
                [_ratio(on.get(first), on.get(other)) for other in others],
            )
            for claim, on in several.items()
        ],
    }


def _cell(verdict: Verdict | None) -> tuple[str, str | None, str | None]:
    """Return a claim's figure on one GPU, its interval, its share of that GPU's bound."""
    if verdict is None:
        return fmt.NOTHING, None, None
    share = verdict.roofline_fraction if verdict.unit in FAST else None
    return (
        fmt.figure(verdict.measured, verdict.unit, verdict.claimed),
        fmt.interval_of(verdict.measured, verdict.unit, verdict.ci90, verdict.claimed),
        None if share is None else f"{fmt.percent(share)} of its bound",
    )


def _ratio(one: Verdict | None, other: Verdict | None) -> tuple[str, str | None]:
    """Return how many times as fast the other GPU is, and the interval of that."""
    slow, fast = _speed(one), _speed(other)
    if slow is None or fast is None:
        return fmt.NOTHING, None
    return fmt.quantity(fast[0] / slow[0], Unit.RATIO), fmt.interval(apart_ci90(fast[1], slow[1]))


def _speed(verdict: Verdict | None) -> tuple[float, tuple[float, float]] | None:
    """Return a figure and its interval as more the faster; None for what is no speed."""
    if verdict is None:
        return None
    measured, interval = verdict.measured, verdict.ci90
    power = FAST.get(verdict.unit or "")
    if power is None or not isinstance(measured, float) or interval is None or interval[0] <= 0:
        return None
    low, high = sorted(end**power for end in interval)
    return measured**power, (low, high)


LEAST_SHOWN = 1e-3
"""A spread below it is told as less than that: no cell has room for more digits."""


def spread_section(
    lines: Mapping[str, ClaimLine],
    found: Mapping[tuple[str, str], FigureSpread],
    *,
    quotes: bool,
    beside: Iterable[str] = (),
) -> Row | None:
    """Return every figure of the page's lines with several runs; None where there is none.

    ``quotes``: whether some are other reports'; ``beside``: remarks on several GPUs of this run.
    """
    told = {key: spread for key, spread in sorted(found.items()) if key[0] in lines}
    rows = [
        {
            "line": lines[claim],
            "target": target,
            "says": spread_line(spread, lines[claim].claimed_value),
            "runs": list(observation_lines(spread, lines[claim].claimed_value)),
        }
        for (claim, target), spread in told.items()
    ]
    extents = [spread.extent for spread in told.values() if spread.extent is not None]
    several, differing = list(beside), causes(told.values())
    section: Row = {
        "beside": several,
        "rows": rows,
        "quotes": quotes,
        "apart": sum(spread.apart for spread in told.values()),
        "extents": (median(extents), max(extents)) if extents else None,
        "causes": differing,
        "twice": any("card" not in cause.differs for cause in differing),
    }
    return section if rows or several else None


def with_spreads(
    lines: Mapping[str, ClaimLine], found: Mapping[tuple[str, str], FigureSpread]
) -> dict[str, ClaimLine]:
    """Return lines whose figures tell how far other cards and runs lie from them."""

    def told(line: ClaimLine, detail: VerdictDetail) -> VerdictDetail:
        spread = found.get((line.id, detail.text.target))
        if spread is None or not detail.text.gpu:
            return detail
        fact = Fact("cards and runs", spread_line(spread, line.claimed_value))
        return replace(detail, facts=(*detail.facts, fact))

    return {
        claim: replace(
            line,
            spread=spread_short(found.get((claim, line.lead.target))) if line.lead.gpu else None,
            details=tuple(told(line, detail) for detail in line.details),
        )
        for claim, line in lines.items()
    }


def report_spreads(
    catalog: Catalog, evidence: Evidence, verdicts: VerdictsFile
) -> dict[tuple[str, str], FigureSpread]:
    """Return the spread of each figure that other runs measured, too, by claim and target.

    Empty if the evidence holds no other runs.
    """
    if evidence.other_runs is None:
        return {}
    own = report_figures(
        catalog,
        evidence,
        verdicts,
        commit=None,
        created=None,
        manifest_sha256=UNWRITTEN,
        rates=False,
    )
    return spreads(own, evidence.other_runs)


def spread_short(spread: FigureSpread | None) -> str | None:
    """Return how far a figure's runs lie apart, as its line has room for it."""
    if spread is None or spread.extent is None:
        return None
    if spread.extent < LEAST_SHOWN:
        return f"<\N{NO-BREAK SPACE}{LEAST_SHOWN:.1%}"
    return fmt.percent(spread.extent)


def spread_line(spread: FigureSpread, claimed: float | str | None = None) -> str:
    """Return how far a figure's runs lie apart, in a sentence without its figure's name.

    ``claimed``: the figure that it stands beside, as for ``formatting.figure``.
    """
    values = [each.measured for each in spread.observations]
    low, high = min(values), max(values)
    runs, cards = counted(len(values), "run"), counted(spread.cards, "card")
    apart = f", {fmt.percent(spread.extent)} apart" if spread.extent is not None else ""
    told = [
        f"{runs} on {cards}: {fmt.span(low, high, spread.unit, claimed)}{apart}.",
        "Two of their intervals have no point in common."
        if spread.apart
        else "All of their intervals overlap.",
    ]
    if spread.another is not None:
        told.append(
            f"A run on one more card is expected within ±{fmt.percent(spread.another)} (90 %)."
        )
    return " ".join(told)


def observation_lines(spread: FigureSpread, claimed: float | str | None = None) -> Iterator[str]:
    """Yield a line for each run of a figure: figure, interval, card, driver, commit, report."""
    for each in spread.observations:
        on = each.machine
        commit = f", commit {on.commit[:12]}" if on.commit else ""
        yield (
            f"{fmt.figure(each.measured, spread.unit, claimed)} "
            f"{fmt.interval_of(each.measured, spread.unit, each.ci90, claimed)}: "
            f"{on.product} {on.gpu_uuid}, driver {on.driver}{commit}, {fmt.moment(on.recorded_at)} "
            f"({each.report})"
        )

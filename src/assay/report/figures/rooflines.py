"""Rooflines: measured rates below the ceilings of a GPU's datasheet."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.report_figures import rate_of, timed_arm
from assay.judging.needs import primary_terms
from assay.records.platform import Target
from assay.report.figures import svg
from assay.report.figures.svg import LogScale, beside, line, marked, short, stroke, text_at
from assay.report.formatting import Row
from assay.shared.counting import counted
from assay.statistics import roofline

MOST_NAMED = 12  # variants with a number in a roofline: those that most claims speak of


class RooflinePoint(NamedTuple):
    """The fastest arm of a variant: intensity in FLOP/byte, rate in TFLOP/s."""

    label: str
    intensity: float
    rate: float
    ours: bool


def rooflines(catalog: Catalog, evidence: Evidence) -> Iterator[Row]:
    """Yield one roofline a target and tensor peak, with the fastest arm of every variant."""
    claims = _claims_on(catalog, evidence)
    for plan in evidence.plan.targets:
        target = catalog.targets[plan.target]
        best: dict[float, dict[str, RooflinePoint]] = {}
        for comparison in plan.comparisons:
            record = evidence.benchmarks.get((plan.target, comparison))
            if record is None:
                continue
            for arm in catalog.comparisons[comparison].arms:
                timed = timed_arm(record, arm.id, catalog.judging)
                if timed is None or not (timed[0].bytes and timed[0].flop):
                    continue
                variant, intensity = catalog.variants[arm.variant], timed[0].flop / timed[0].bytes
                ours = variant.kind == "kernel"
                point = RooflinePoint(variant.title, intensity, rate_of(*timed), ours)
                dtype = catalog.workloads[arm.workload].dtype
                same = best.setdefault(roofline.peak_tflop_per_s(target.peaks, dtype), {})
                if arm.variant not in same or point.rate > same[arm.variant].rate:
                    same[arm.variant] = point
        yield from (_roofline(target, peak, best[peak], claims) for peak in sorted(best))


def _claims_on(catalog: Catalog, evidence: Evidence) -> Counter[str]:
    """Return how many claims of the plan, not merely readings of them, speak of each variant."""
    claims = [catalog.claims[a.claim] for a in evidence.plan.answers if a.claim in catalog.claims]
    terms = Counter(
        (term.comparison, arm)
        for claim in claims
        for term in primary_terms([claim])
        for arm in (term.arm, term.over)
    )
    counts: Counter[str] = Counter()
    for comparison in catalog.comparisons.values():
        for arm in comparison.arms:
            counts[arm.variant] += terms[comparison.id, arm.id]
    return counts


def _roofline(
    target: Target, peak: float, points: dict[str, RooflinePoint], claims: Counter[str]
) -> Row:
    """Return a picture and its caption; the variants that most claims speak of have a number."""
    spoken = sorted((name for name in points if claims[name]), key=lambda name: -claims[name])
    chosen = {*spoken[:MOST_NAMED]}
    named = [point for name, point in points.items() if name in chosen]
    named.sort(key=lambda point: -point.rate)
    others = [point for name, point in points.items() if name not in chosen]
    slope = target.peaks.memory_gb_per_s / 1000
    above = sum(point.rate > point.intensity * slope for point in points.values())
    beyond = (
        f"{counted(above, 'point lies', 'points lie')} above the slope: the slope is what memory "
        "delivers, so these must have read what the L2 cache still held. "
    )
    of_fp8 = peak != target.peaks.fp16_tensor_tflop_per_s
    ceilings = peak, target.peaks.memory_gb_per_s
    return {
        "svg": _drawn(named, others, ceilings),
        "caption": f"{target.product}: the fastest measurement of every "
        f"{'FP8 ' if of_fp8 else ''}variant, by stored-block FLOPs and least traffic. Circles are "
        "kernels of this repository, squares are libraries; small dots are other variants. "
        f"{beyond if above else ''}Ceilings: {target.peaks.source}.",
        "legend": [(point.label, point.ours) for point in named],
    }


def _drawn(
    named: Sequence[RooflinePoint], others: Sequence[RooflinePoint], ceilings: tuple[float, float]
) -> str:
    """Rates against arithmetic intensity below the datasheet's ceilings, TFLOP/s and GB/s."""
    width, height = 480.0, 300.0
    peak, memory_gb_per_s = ceilings
    slope = memory_gb_per_s / 1000
    ridge = peak / slope
    points = [*named, *others]
    low = min(*(point.intensity for point in points), ridge) / 2
    high = max(*(point.intensity for point in points), ridge) * 2
    floor = min(*(point.rate for point in points), low * slope) / 1.6
    across = LogScale(low, high, 48, width - 6)
    up = LogScale(floor, peak * 1.7, height - 34, 8)
    top, foot = up(peak), up(low * slope)
    parts = [
        *_axes(across, up),
        line([(across.start, foot), (across(ridge), top), (across.end, top)], svg.INK, 1.3),
        text_at(across.end - 2, top - 4, f"{peak:g} TFLOP/s tensor peak", "end"),
        text_at(across.start + 6, foot + 10, f"{memory_gb_per_s:g} GB/s", "start"),
        *(marked(across(p.intensity), up(p.rate), "o", 2.5, svg.MUTED) for p in others),
    ]
    taken: list[tuple[float, float]] = []
    for number, point in enumerate(named, start=1):
        colour, shape = (svg.SERIES[0], "o") if point.ours else (svg.SERIES[1], "s")
        x, y = across(point.intensity), up(point.rate)
        place = _free(x + 5, y, taken)
        taken.append(place)
        parts.append(marked(x, y, shape, 5, colour))
        parts += [line([(x, y), place], svg.MUTED, 0.35)] if place != (x + 5, y) else []
        parts.append(beside(*place, str(number), "start"))
    below, middle = "arithmetic intensity, FLOP/byte", (up.start + up.end) / 2
    parts.append(text_at((across.start + across.end) / 2, up.start + 27, below, "middle"))
    parts.append(text_at(11, middle, "rate, TFLOP/s", "middle", turned=True))
    title = "Roofline: measured rates below the datasheet's ceilings"
    return svg.inline_svg(title, width, height, parts)


def _axes(across: LogScale, up: LogScale) -> Iterator[str]:
    left, right, bottom, top = map(short, (across.start, across.end, up.start, up.end))
    rows = [(short(up(tick)), text) for tick, text in _log_ticks(up)]
    columns = [(short(across(tick)), text) for tick, text in _log_ticks(across)]
    corner = f"M{left} {bottom}"
    yield from _axis([f"M{left} {y}" for y, _ in rows], f"H{right}", "h-3.5", f"{corner}V{top}")
    yield from (beside(across.start - 6, float(y), text, "end") for y, text in rows)
    yield from _axis([f"M{x} {bottom}" for x, _ in columns], f"V{top}", "v3.5", f"{corner}H{right}")
    yield from (text_at(float(x), up.start + 13, text, "middle") for x, text in columns)


def _axis(ticks: Sequence[str], grid: str, mark: str, frame: str) -> Iterator[str]:
    if ticks:
        yield f'<path d="{"".join(tick + grid for tick in ticks)}" {stroke(svg.GRID, 0.6)}/>'
    yield f'<path d="{frame}{"".join(tick + mark for tick in ticks)}" {stroke(svg.MUTED, 0.7)}/>'


def _free(x: float, y: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return a place for a number beside a mark that covers no other number."""
    step, tried = svg.SIZE + 0.5, 0
    first = y
    while any(abs(x - across) < 1.6 * svg.SIZE and abs(y - up) < step for across, up in taken):
        tried += 1
        # Above and below in turn, each time a little further.
        y = first + step * (tried + 1) / 2 * (-1) ** tried
    return x, y


def _log_ticks(scale: LogScale) -> list[tuple[float, str]]:
    """1, 2 and 5 times powers of ten; powers alone over more than two decades."""
    steps = (1, 2, 5) if scale.high / scale.low < 100 else (1,)
    every = [step * 10.0**power for power in range(-4, 7) for step in steps]
    return [(tick, f"{tick:g}") for tick in every if scale.low <= tick <= scale.high]

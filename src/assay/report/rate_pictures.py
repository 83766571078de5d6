"""The pictures of rates in the report: rooflines, and rate against tile depth."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.judging.needs import primary_terms
from assay.records.evaluations import Benchmark, Metric
from assay.records.measurements import ArmFacts, BenchmarkRecord
from assay.records.targets import Target
from assay.report import figures
from assay.statistics import roofline
from assay.statistics.shared_summaries import SharedSummaries
from assay.statistics.summaries import Summary

MOST_NAMED = 12
"""Variants with a number in a roofline: those that most claims speak of."""


@dataclass(frozen=True)
class Picture:
    """A figure with the sentence below it."""

    svg: str
    caption: str
    legend: tuple[tuple[str, bool], ...] = ()
    """What the numbers in it are, from 1, and whether each is a kernel of ours."""


def facts_of(record: BenchmarkRecord, arm: str) -> ArmFacts | None:
    """Return what an arm's samples are samples of; None where it was not timed."""
    found = (f for process in record.processes for f in process.arms if f.arm == arm)
    return next(found, None)


def rate_of(facts: ArmFacts, time: Summary) -> Summary:
    """TFLOP/s from ms: FLOP over (ms * 1e-3 s) over 1e12."""
    return time.inverse(facts.flop * 1e-9)


def rooflines(
    catalog: Catalog, evidence: Evidence, summaries: SharedSummaries
) -> tuple[Picture, ...]:
    """Return one roofline a target and tensor peak, with the fastest arm of every variant."""
    pictures = []
    claims = _claims_on(catalog, evidence)
    for plan in evidence.plan.targets:
        target = catalog.targets[plan.target]
        best: dict[float, dict[str, figures.RooflinePoint]] = {}
        for comparison in plan.comparisons:
            record = evidence.benchmarks.get((plan.target, comparison))
            for arm in catalog.comparisons[comparison].arms if record else ():
                assert record is not None
                facts, time = facts_of(record, arm.id), None
                if facts is not None:
                    time = summaries.arm_time(record, arm.id, catalog.judging)
                if facts is None or time is None or facts.bytes == 0:
                    continue
                point = figures.RooflinePoint(
                    label=catalog.variants[arm.variant].title,
                    intensity=facts.flop / facts.bytes,
                    rate=rate_of(facts, time).value(),
                    ours=catalog.variants[arm.variant].kind == "kernel",
                    named=False,
                )
                dtype = catalog.workloads[arm.workload].dtype
                same = best.setdefault(roofline.peak_tflop_per_s(target.peaks, dtype), {})
                if arm.variant not in same or point.rate > same[arm.variant].rate:
                    same[arm.variant] = point
        pictures += [
            Picture(drawn.svg, _roofline_caption(target, peak), drawn.legend)
            for peak, points in sorted(best.items())
            if (drawn := _roofline(target, peak, _named(points, claims)))
        ]
    return tuple(pictures)


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


def _named(
    points: Mapping[str, figures.RooflinePoint], claims: Counter[str]
) -> list[figures.RooflinePoint]:
    """Return points by variant, those named that most claims speak of."""
    spoken = sorted((name for name in points if claims[name]), key=lambda name: -claims[name])
    chosen = spoken[:MOST_NAMED]
    return [replace(point, named=name in chosen) for name, point in points.items()]


def _of_fp8(target: Target, peak: float) -> bool:
    return peak != target.peaks.fp16_tensor_tflop_per_s


def _roofline(
    target: Target, peak: float, points: Sequence[figures.RooflinePoint]
) -> figures.Roofline | None:
    name = f"roofline-fp8-{target.id}" if _of_fp8(target, peak) else f"roofline-{target.id}"
    return figures.roofline(points, peak, target.peaks.memory_gb_per_s, name)


def _roofline_caption(target: Target, peak: float) -> str:
    every = "every FP8 variant" if _of_fp8(target, peak) else "every variant"
    return (
        f"{target.product}: the fastest measurement of {every}, by stored-block FLOPs and least "
        "traffic. Circles are kernels of this repository, squares are libraries; small dots are "
        "other variants. "
        f"Ceilings: {target.peaks.source}."
    )


def bk_sweeps(
    catalog: Catalog, evidence: Evidence, summaries: SharedSummaries
) -> tuple[Picture, ...]:
    """Return rate against tile depth BK for comparisons whose arms differ in little else."""
    pictures = []
    for (target, name), record in evidence.benchmarks.items():
        depths = _depths(catalog, name)
        if len(depths) < 3:
            continue
        measured = []
        for arm, bk in depths.items():
            facts = facts_of(record, arm)
            time = summaries.arm_time(record, arm, catalog.judging) if facts else None
            if facts and time:
                rate = rate_of(facts, time)
                measured.append(figures.SweepPoint(bk, rate.value(), *rate.interval()))
        svg = figures.bk_sweep(
            measured, list(_published(catalog, name, depths)), f"sweep-{target}-{name}"
        )
        if svg:
            pictures.append(
                Picture(
                    svg, f"{catalog.targets[target].product}: {catalog.comparisons[name].title}."
                )
            )
    return tuple(pictures)


def _depths(catalog: Catalog, comparison: str) -> dict[str, int]:
    """BK of each arm, where all arms are kernels and no two have the same BK."""
    arms = catalog.comparisons[comparison].arms
    found = {
        arm.id: catalog.variants[arm.variant].defines["BK"]
        for arm in arms
        if "BK" in catalog.variants[arm.variant].defines
    }
    return found if len(set(found.values())) == len(arms) else {}


def _published(
    catalog: Catalog, comparison: str, depths: dict[str, int]
) -> Iterator[tuple[int, float]]:
    for claim in catalog.claims.values():
        evaluation = claim.evaluation
        if isinstance(evaluation, Benchmark) and evaluation.metric is Metric.RATE:
            for term in evaluation.terms:
                if term.comparison == comparison and term.arm in depths and claim.value:
                    yield depths[term.arm], claim.value

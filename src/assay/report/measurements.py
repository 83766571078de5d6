"""The measurements' part of the report: arms, pictures of runs, builds, profiles, platforms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import benchmark_path, correctness_path
from assay.findings.block_quality import ArmKey, ClockSpread, Conduct, conduct_of
from assay.records.claims import Benchmark, Metric
from assay.records.measurements import (
    ArmCorrectness,
    ArmFacts,
    BenchmarkRecord,
)
from assay.records.targets import Target
from assay.report import figures
from assay.report import formatting as fmt
from assay.report.claims import Link, link
from assay.report.figure_traces import Traces, TraceSeries
from assay.report.figure_traces import traces as draw_traces
from assay.shared.counting import counted
from assay.statistics import roofline
from assay.statistics.shared_summaries import SharedSummaries
from assay.statistics.summaries import Summary

PROCESS_GAP_S = 0.3
"""Drawn between the traces of two processes, so that they read as two."""


@dataclass(frozen=True)
class ArmRow:
    """One arm of a comparison as it came out."""

    arm: str
    title: str
    workload: str
    correctness: str
    correct: bool
    error: str
    time: str
    interval: str | None
    clock: str
    """Mean SM clock of its turns, and the lowest and highest of them."""
    rate: str
    bound: str
    binary: str


@dataclass(frozen=True)
class ComparisonSection:
    """One comparison on one target."""

    id: str
    target: str
    title: str
    protocol: str
    arms: tuple[ArmRow, ...]
    noise: str
    discarded: str
    """How many blocks of how many, and why."""
    regimes: str | None
    """How the GPU ran, where it did not run freely."""
    figure: str | None
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Picture:
    """A figure with the sentence below it."""

    svg: str
    caption: str


def comparison_sections(
    catalog: Catalog,
    evidence: Evidence,
    summaries: SharedSummaries,
    clocks: Mapping[ArmKey, ClockSpread],
) -> tuple[ComparisonSection, ...]:
    """Return every comparison that was at least checked, per target, in the order of the plan."""
    return tuple(
        _comparison(catalog, evidence, summaries, clocks, plan.target, comparison)
        for plan in evidence.plan.targets
        for comparison in plan.comparisons
        if (plan.target, comparison) in evidence.correctness
        or (plan.target, comparison) in evidence.benchmarks
    )


def _comparison(
    catalog: Catalog,
    evidence: Evidence,
    summaries: SharedSummaries,
    clocks: Mapping[ArmKey, ClockSpread],
    target: str,
    name: str,
) -> ComparisonSection:
    comparison = catalog.comparisons[name]
    gate = evidence.correctness.get((target, name))
    record = evidence.benchmarks.get((target, name))
    platform = evidence.platforms.get(target)
    limit = platform.device.gpu.power_limit_w if platform else None
    rules = catalog.judging
    noise = summaries.noise_floor(record, comparison.control, rules) if record else None
    paths = [(gate, correctness_path(target, name)), (record, benchmark_path(target, name))]
    checks = {arm.arm: arm for arm in gate.arms} if gate else {}
    conduct = conduct_of(record) if record else None
    return ComparisonSection(
        id=name,
        target=target,
        title=comparison.title,
        protocol=comparison.protocol,
        arms=tuple(
            _arm(
                catalog,
                summaries,
                target,
                name,
                arm.id,
                checks.get(arm.id),
                record,
                clocks.get((target, name, arm.id)),
            )
            for arm in comparison.arms
        ),
        noise=fmt.percent(noise),
        discarded=_discarded(conduct) if conduct else fmt.NOTHING,
        regimes=_regimes(conduct) if conduct else None,
        figure=draw_traces(traces_of(record, limit), f"trace-{target}-{name}") if record else None,
        links=tuple(link(f"evidence/{path}") for there, path in paths if there is not None),
    )


def _discarded(conduct: Conduct) -> str:
    why = ", ".join(f"{count} for {reason}" for reason, count in conduct.reasons.items())
    return f"{conduct.discarded} of {conduct.blocks}" + (f" ({why})" if why else "")


def _regimes(conduct: Conduct) -> str | None:
    seen = (f"{regime} in {count}" for regime, count in conduct.regimes.items())
    return f"{', '.join(seen)} of {counted(conduct.blocks, 'block')}" if conduct.regimes else None


def _clock(clocks: ClockSpread | None) -> str:
    if clocks is None:
        return fmt.NOTHING
    low, high = (f"{mhz:.0f}" for mhz in (clocks.low_mhz, clocks.high_mhz))
    return f"{clocks.median_mhz:.0f} MHz ({low} to {high})"


def facts_of(record: BenchmarkRecord, arm: str) -> ArmFacts | None:
    """Return what an arm's samples are samples of; None where it was not timed."""
    found = (f for process in record.processes for f in process.arms if f.arm == arm)
    return next(found, None)


def _arm(
    catalog: Catalog,
    summaries: SharedSummaries,
    target: str,
    comparison: str,
    name: str,
    check: ArmCorrectness | None,
    record: BenchmarkRecord | None,
    clocks: ClockSpread | None,
) -> ArmRow:
    arm = next(a for a in catalog.comparisons[comparison].arms if a.id == name)
    facts = facts_of(record, name) if record else None
    time = summaries.arm_time(record, name, catalog.judging) if record and facts else None
    rate = bound = fmt.NOTHING
    if time and facts:
        rate = fmt.quantity(_rate(facts, time).value(), "tflop_per_s")
        peaks, dtype = catalog.targets[target].peaks, catalog.workloads[arm.workload].dtype
        bound = fmt.percent(roofline.fraction(time.value(), facts, dtype, peaks))
    errors = (
        [c.relative_error for c in check.checks if c.relative_error is not None] if check else []
    )
    return ArmRow(
        arm=name,
        title=catalog.variants[arm.variant].title,
        workload=arm.workload,
        correctness=check.status if check else "not checked",
        correct=check is not None and check.status == "correct",
        error=f"{max(errors):.2g}" if errors else fmt.NOTHING,
        time=fmt.quantity(time.value(), "ms") if time else fmt.NOTHING,
        interval=fmt.interval(time.interval()) if time else None,
        clock=_clock(clocks),
        rate=rate,
        bound=bound,
        binary=(check.binary_sha256 if check else None) or "",
    )


def _rate(facts: ArmFacts, time: Summary) -> Summary:
    """TFLOP/s from ms: FLOP over (ms * 1e-3 s) over 1e12."""
    return time.inverse(facts.flop * 1e-9)


def traces_of(record: BenchmarkRecord, power_limit_w: float | None) -> Traces:
    """Samples of all processes laid end to end; turn times over their arm's median."""
    segments, spans = [], []
    at: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    start = 0.0
    for process in record.processes:
        telemetry = process.telemetry
        shifted = tuple(start + second for second in telemetry.at_s)
        if shifted:
            clocks = tuple(float(mhz) for mhz in telemetry.clock_sm_mhz)
            segments.append((shifted, clocks, telemetry.power_w))
        ends = [*telemetry.at_s]
        for block in process.blocks:
            ends += [turn.ended_s for turn in block.turns]
            if block.void and block.turns:
                first, last = block.turns[0].started_s, block.turns[-1].ended_s
                spans.append((start + first, start + last))
            for turn in block.turns:
                middle = start + (turn.started_s + turn.ended_s) / 2
                at.setdefault(turn.arm, []).append(middle)
                times.setdefault(turn.arm, []).append(median(turn.times_ms))
        start += max(ends, default=0.0) + PROCESS_GAP_S
    return Traces(
        segments=tuple(segments),
        void_spans=tuple(spans),
        series=tuple(
            TraceSeries(
                arm, tuple(at[arm]), tuple(time / median(times[arm]) for time in times[arm])
            )
            for arm in at
        ),
        power_limit_w=power_limit_w,
    )


def rooflines(
    catalog: Catalog, evidence: Evidence, summaries: SharedSummaries
) -> tuple[Picture, ...]:
    """Return one roofline a target and tensor peak, with the fastest arm of every variant."""
    pictures = []
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
                    label=f"{arm.variant} ({arm.workload})",
                    intensity=facts.flop / facts.bytes,
                    rate=_rate(facts, time).value(),
                    ours=catalog.variants[arm.variant].kind == "kernel",
                )
                dtype = catalog.workloads[arm.workload].dtype
                same = best.setdefault(roofline.peak_tflop_per_s(target.peaks, dtype), {})
                if arm.variant not in same or point.rate > same[arm.variant].rate:
                    same[arm.variant] = point
        pictures += [
            Picture(svg, _roofline_caption(target, peak))
            for peak, points in sorted(best.items())
            if (svg := _roofline(target, peak, list(points.values())))
        ]
    return tuple(pictures)


def _of_fp8(target: Target, peak: float) -> bool:
    return peak != target.peaks.fp16_tensor_tflop_per_s


def _roofline(target: Target, peak: float, points: Sequence[figures.RooflinePoint]) -> str | None:
    name = f"roofline-fp8-{target.id}" if _of_fp8(target, peak) else f"roofline-{target.id}"
    return figures.roofline(points, peak, target.peaks.memory_gb_per_s, name)


def _roofline_caption(target: Target, peak: float) -> str:
    every = "every FP8 variant" if _of_fp8(target, peak) else "every variant"
    return (
        f"{target.id}: the fastest arm of {every}, by stored-block FLOPs and "
        "least traffic; circles are kernels of this repository, squares libraries. "
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
                rate = _rate(facts, time)
                measured.append(figures.SweepPoint(bk, rate.value(), *rate.interval()))
        svg = figures.bk_sweep(
            measured, list(_published(catalog, name, depths)), f"sweep-{target}-{name}"
        )
        if svg:
            pictures.append(Picture(svg, f"{target}: {catalog.comparisons[name].title}."))
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

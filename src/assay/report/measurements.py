"""The measurements' part of the report: arms, pictures of runs, builds, profiles, platforms."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import benchmark_path, correctness_path
from assay.findings.block_quality import ArmKey, ClockSpread, Conduct, conduct_of
from assay.findings.tuning_outcomes import settings
from assay.records.measurements import (
    ArmCorrectness,
    BenchmarkRecord,
)
from assay.report import formatting as fmt
from assay.report.figure_traces import Traces, TraceSeries
from assay.report.figure_traces import traces as draw_traces
from assay.report.links import Link, link
from assay.report.rate_pictures import facts_of, rate_of
from assay.shared.counting import counted
from assay.statistics import roofline
from assay.statistics.shared_summaries import SharedSummaries

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
    memory: str | None
    """Device memory of its inputs, and of a launch beside them; None where not recorded."""
    swept: str | None
    """How a library was tuned on the workload, in a sentence; None where it was not."""


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

    @property
    def tells_memory(self) -> bool:
        """Return whether the record has the memory of any arm."""
        return any(arm.memory for arm in self.arms)


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
        rate = fmt.quantity(rate_of(facts, time).value(), "tflop_per_s")
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
        memory=_memory(record, name) if record else None,
        swept=_swept(record, name) if record else None,
    )


def _memory(record: BenchmarkRecord, arm: str) -> str | None:
    """The most of all processes; they differ by what a library chose to allocate."""
    facts = [each for process in record.processes for each in process.arms if each.arm == arm]
    known = [(f.input_bytes or 0, f.launch_bytes) for f in facts if f.launch_bytes is not None]
    if not known:
        return None
    inputs, launches = zip(*known, strict=True)
    return f"{fmt.size(max(inputs))} + {fmt.size(max(launches))}"


def _swept(record: BenchmarkRecord, arm: str) -> str | None:
    """Return what ran and of how many; of processes that chose for themselves, all choices."""
    facts = [each for process in record.processes for each in process.arms if each.arm == arm]
    sweeps = [each.swept for each in facts if each.swept is not None]
    if not sweeps:
        return None
    chosen = dict.fromkeys(settings(sweep.chosen) for sweep in sweeps)
    tried = {settings(one.settings) for sweep in sweeps for one in sweep.tried}
    ran = {settings(one.settings) for sweep in sweeps for one in sweep.tried if one.ms is not None}
    searches = dict.fromkeys(sweep.search for sweep in sweeps)
    return (
        f"{arm}: {'; '.join(chosen)}, chosen by {' and '.join(searches)} from "
        f"{counted(len(tried), 'configuration')} tried, of which {len(ran)} ran."
    )


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

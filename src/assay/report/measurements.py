"""The measurements' part of the report: every comparison's arms, and how its run went."""

from collections.abc import Iterator, Mapping

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import benchmark_path, correctness_path
from assay.findings.block_quality import ArmKey, ClockSpread, conduct_of
from assay.findings.tuning_outcomes import settings
from assay.records.measurements import ArmCorrectness, ArmFacts, BenchmarkRecord
from assay.records.workloads import Arm
from assay.report import formatting as fmt
from assay.report.figure_traces import traces
from assay.report.formatting import Row, link
from assay.report.rate_pictures import facts_of, rate_of
from assay.shared.counting import counted
from assay.statistics import roofline
from assay.statistics.shared_summaries import SharedSummaries


def comparison_sections(
    catalog: Catalog,
    evidence: Evidence,
    summaries: SharedSummaries,
    clocks: Mapping[ArmKey, ClockSpread],
) -> Iterator[Row]:
    """Yield every comparison that was at least checked, per target, in the order of the plan."""
    for plan in evidence.plan.targets:
        for name in plan.comparisons:
            key = (plan.target, name)
            if key in evidence.correctness or key in evidence.benchmarks:
                yield _comparison(catalog, evidence, summaries, clocks, *key)


def _comparison(
    catalog: Catalog,
    evidence: Evidence,
    summaries: SharedSummaries,
    clocks: Mapping[ArmKey, ClockSpread],
    target: str,
    name: str,
) -> Row:
    comparison = catalog.comparisons[name]
    gate = evidence.correctness.get((target, name))
    record = evidence.benchmarks.get((target, name))
    paths = [(gate, correctness_path(target, name)), (record, benchmark_path(target, name))]
    checks = {arm.arm: arm for arm in gate.arms} if gate else {}
    arms = [
        {
            **_gated(catalog, arm, checks.get(arm.id)),
            "clock": _clock(clocks.get((target, name, arm.id))),
            **_timed(catalog, summaries, target, arm, record),
        }
        for arm in comparison.arms
    ]
    section: Row = {
        "comparison": comparison,
        "target": target,
        "arms": arms,
        "tells_memory": any(arm["memory"] for arm in arms),
        "noise": fmt.NOTHING,
        "discarded": fmt.NOTHING,
        "regimes": None,
        "figure": None,
        "links": [link(f"evidence/{path}") for there, path in paths if there is not None],
    }
    if record:
        floor = summaries.noise_floor(record, comparison.control, catalog.judging)
        platform = evidence.platforms.get(target)
        limit = platform.device.gpu.power_limit_w if platform else None
        figure = traces(record, limit, f"trace-{target}-{name}")
        section |= {"noise": fmt.percent(floor), **_conduct(record), "figure": figure}
    return section


def _conduct(record: BenchmarkRecord) -> Row:
    """Return how many blocks do not count and why, and how the GPU ran where not freely."""
    conduct = conduct_of(record)
    why = ", ".join(f"{count} for {reason}" for reason, count in conduct.reasons.items())
    seen = ", ".join(f"{regime} in {count}" for regime, count in conduct.regimes.items())
    return {
        "discarded": f"{conduct.discarded} of {conduct.blocks}{f' ({why})' if why else ''}",
        "regimes": f"{seen} of {counted(conduct.blocks, 'block')}" if seen else None,
    }


def _clock(clocks: ClockSpread | None) -> str:
    """Return the mean SM clock of an arm's turns, and the lowest and highest of them."""
    if clocks is None:
        return fmt.NOTHING
    return f"{clocks.median_mhz:.0f} MHz ({clocks.low_mhz:.0f} to {clocks.high_mhz:.0f})"


def _gated(catalog: Catalog, arm: Arm, check: ArmCorrectness | None) -> Row:
    errors = (
        [c.relative_error for c in check.checks if c.relative_error is not None] if check else []
    )
    return {
        "arm": arm.id,
        "title": catalog.variants[arm.variant].title,
        "workload": arm.workload,
        "correctness": check.status if check else "not checked",
        "error": f"{max(errors):.2g}" if errors else fmt.NOTHING,
        "binary": (check.binary_sha256 if check else None) or "",
    }


def _timed(
    catalog: Catalog,
    summaries: SharedSummaries,
    target: str,
    arm: Arm,
    record: BenchmarkRecord | None,
) -> Row:
    facts = facts_of(record, arm.id) if record else None
    time = summaries.arm_time(record, arm.id, catalog.judging) if record and facts else None
    rate = bound = fmt.NOTHING
    if time and facts:
        rate = fmt.quantity(rate_of(facts, time).value(), "tflop_per_s")
        peaks, dtype = catalog.targets[target].peaks, catalog.workloads[arm.workload].dtype
        bound = fmt.percent(roofline.fraction(time.value(), facts, dtype, peaks))
    processes = record.processes if record else ()
    every = [each for process in processes for each in process.arms if each.arm == arm.id]
    chosen = dict.fromkeys(settings(each.swept.chosen) for each in every if each.swept is not None)
    return {
        "time": fmt.quantity(time.value(), "ms") if time else fmt.NOTHING,
        "interval": fmt.interval(time.interval()) if time else None,
        "rate": rate,
        "bound": bound,
        "memory": _memory(every),
        "swept": f"{arm.id}: {'; '.join(chosen)}, chosen on this workload." if chosen else None,
    }


def _memory(facts: list[ArmFacts]) -> str | None:
    """The most of all processes; they differ by what a library chose to allocate."""
    known = [(f.input_bytes or 0, f.launch_bytes) for f in facts if f.launch_bytes is not None]
    if not known:
        return None
    inputs, launches = zip(*known, strict=True)
    return f"{fmt.size(max(inputs))} + {fmt.size(max(launches))}"

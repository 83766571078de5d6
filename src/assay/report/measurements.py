"""The measurements' part of the report: arms of every comparison, profiles."""

from collections import Counter
from collections.abc import Iterator, Mapping

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.nsight_csv import CLOCK, DURATION, HZ, MS, ProfiledKernel, longest_kernel
from assay.evidence.stages import benchmark_path, correctness_path, profile_path
from assay.findings.report_figures import bandwidth_of, rate_of, timed_arm
from assay.records.measurements import ArmCorrectness, ArmFacts, BenchmarkRecord
from assay.records.workloads import Arm
from assay.report import formatting as fmt
from assay.report.figures.figure_traces import distribution, traces
from assay.report.stopwatches import ArmKey, ClockSpread
from assay.shared.counting import counted
from assay.statistics import roofline
from assay.statistics.summaries import CONTROL, floor_of, time_ratio


def comparison_sections(
    catalog: Catalog, evidence: Evidence, clocks: Mapping[ArmKey, ClockSpread]
) -> Iterator[fmt.Row]:
    """Yield every comparison that was at least checked, per target, in the order of the plan."""
    for plan in evidence.plan.targets:
        for name in plan.comparisons:
            key = (plan.target, name)
            if key in evidence.correctness or key in evidence.benchmarks:
                yield _comparison(catalog, evidence, clocks, *key)


def _comparison(
    catalog: Catalog,
    evidence: Evidence,
    clocks: Mapping[ArmKey, ClockSpread],
    target: str,
    name: str,
) -> fmt.Row:
    comparison = catalog.comparisons[name]
    gate = evidence.correctness.get((target, name))
    record = evidence.benchmarks.get((target, name))
    paths = [(gate, correctness_path(target, name)), (record, benchmark_path(target, name))]
    checks = {arm.arm: arm for arm in gate.arms} if gate else {}
    arms = [
        {
            **_gated(catalog, arm, checks.get(arm.id)),
            "clock": _clock(clocks.get((target, name, arm.id))),
            **_timed(catalog, target, arm, record),
        }
        for arm in comparison.arms
    ]
    section: fmt.Row = {
        "comparison": comparison,
        "target": target,
        "arms": arms,
        "timed": catalog.targets[target].timed,
        "tells_memory": any(arm["memory"] for arm in arms),
        "noise": fmt.NOTHING,
        "discarded": fmt.NOTHING,
        "regimes": None,
        "figure": None,
        "links": [fmt.link(evidence.place(path)) for there, path in paths if there is not None],
    }
    if record:
        floor = floor_of(time_ratio(record, comparison.control, CONTROL, catalog.judging))
        platform = evidence.platforms.get(target)
        limit = platform.device.gpu.power_limit_w if platform else None
        figure = traces(record, limit, f"trace-{target}-{name}")
        section |= {"noise": fmt.percent(floor), **_conduct(record), "figure": figure}
    return section


def _conduct(record: BenchmarkRecord) -> fmt.Row:
    """Return how many blocks do not count and why, and how the GPU ran where not freely."""
    blocks = [block for process in record.processes for block in process.blocks]
    reasons = Counter(block.void for block in blocks if block.void is not None)
    regimes = Counter(regime for block in blocks for regime in set(block.regimes))
    why = ", ".join(f"{count} for {reason}" for reason, count in sorted(reasons.items()))
    seen = ", ".join(f"{regime} in {count}" for regime, count in sorted(regimes.items()))
    return {
        "discarded": f"{reasons.total()} of {len(blocks)}{f' ({why})' if why else ''}",
        "regimes": f"{seen} of {counted(len(blocks), 'block')}" if seen else None,
    }


def _clock(of: ClockSpread | None) -> str:
    between = of and f"({of.low_mhz:.0f} to {of.high_mhz:.0f})"
    return f"{of.median_mhz:.0f} MHz {between}" if of else fmt.NOTHING


def _gated(catalog: Catalog, arm: Arm, check: ArmCorrectness | None) -> fmt.Row:
    checks = check.checks if check else ()
    errors = [each.relative_error for each in checks if each.relative_error is not None]
    return {
        "arm": arm.id,
        "title": catalog.variants[arm.variant].title,
        "workload": arm.workload,
        "correctness": check.status if check else "not checked",
        "error": f"{max(errors):.2g}" if errors else fmt.NOTHING,
        "binary": (check.binary_sha256 if check else None) or "",
    }


def _timed(catalog: Catalog, target: str, arm: Arm, record: BenchmarkRecord | None) -> fmt.Row:
    facts, time = (timed_arm(record, arm.id, catalog.judging) if record else None) or (None, None)
    rate = bound = fmt.NOTHING
    if time and facts and facts.flop:
        workload, peaks = catalog.workloads[arm.workload], catalog.targets[target].peaks
        rate = fmt.rate(workload.operation, rate_of(facts, time), bandwidth_of(facts, time))
        fraction = roofline.fraction(time.value(), facts, workload.dtype, peaks)
        bound = fmt.percent(fraction) + (" (from L2)" if fraction > 1 else "")
    processes = record.processes if record else ()
    every = [each for process in processes for each in process.arms if each.arm == arm.id]
    blocks = (block for process in processes for block in process.blocks if block.void is None)
    turns = (turn for block in blocks for turn in block.turns if turn.arm == arm.id)
    samples = [ms for turn in turns for ms in turn.times_ms]
    chosen = dict.fromkeys(fmt.shape(each.swept.chosen) for each in every if each.swept is not None)
    return {
        "time": fmt.quantity(time.value() if time else None, "ms"),
        "interval": fmt.interval(time.interval() if time else None),
        "samples": distribution(samples) if samples else "",
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


COLUMNS = (
    (DURATION, "duration"),
    (CLOCK, "clock"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "tensor pipe"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "of active"),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", "L2"),
    ("lts__t_sector_hit_rate.pct", "L2 hit rate"),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy"),
    ("launch__registers_per_thread", "registers"),
)
COUNTED = ("", "register/thread")  # units of what is counted, and told as it is
STALL = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio")
ISSUING = "selected"  # what Nsight Compute counts beside stalls: the warp that issues
BETWEEN_INSTRUCTIONS = "smsp__average_warp_latency_per_inst_issued.ratio"
STALLS_SHOWN = 3


def profile_rows(evidence: Evidence) -> Iterator[fmt.Row]:
    """Yield every profile of the plan; its cells stand under ``COLUMNS``."""
    for (target, comparison, arm), record in evidence.profiles.items():
        # All of its raw page: of that a record lifts out what its own version knew of.
        try:
            kernel = longest_kernel(record.raw_page or "")
        except ValueError:
            kernel = ProfiledKernel(record.kernel or "", record.metrics, record.units)
        yield {
            "target": target,
            "comparison": comparison,
            "arm": arm,
            "status": fmt.words(record.status),
            "collected": record.status == "collected",
            "detail": record.kernel or record.detail,
            "cells": [_metric(kernel, name) for name, _ in COLUMNS],
            "stalls": list(_stalls(kernel)),
            "link": fmt.link(evidence.place(profile_path(target, comparison, arm))),
        }


def _metric(kernel: ProfiledKernel, name: str) -> str:
    if name not in kernel.values:
        return fmt.NOTHING
    value, unit = kernel.values[name], kernel.units.get(name, "")
    if unit in HZ:
        value, unit = value / 1e6, "MHz"
    elif unit in MS:
        value, unit = value * MS[unit], "ms"
    if unit in COUNTED:
        return fmt.short(value)
    return f"{fmt.number(value)}\N{NO-BREAK SPACE}{unit}"


def _stalls(kernel: ProfiledKernel) -> Iterator[str]:
    """Yield where warps spend the time between two instructions, the largest shares."""
    whole = kernel.values.get(BETWEEN_INSTRUCTIONS, 0.0)
    if whole <= 0:
        return
    before, behind = STALL
    shares = [
        (value / whole, name.removeprefix(before).removesuffix(behind))
        for name, value in kernel.values.items()
        if name.startswith(before) and name.endswith(behind)
    ]
    waits = [each for each in sorted(shares, reverse=True) if each[1] != ISSUING]
    for share, why in waits[:STALLS_SHOWN]:
        yield f"{fmt.words(why)} {100 * share:.0f}\N{NO-BREAK SPACE}%"

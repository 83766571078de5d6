"""Measured quantities from benchmark records: gates first, then numbers."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay.evidence.model import build_record_path
from assay.evidence.stages import benchmark_path, correctness_path
from assay.judging import formulas
from assay.judging.case import Case, Failure, Measured, not_run, once, with_platform
from assay.judging.formulas import Conversion, Counting
from assay.judging.gates import absent, arms_of, gate_record, gate_term
from assay.judging.what_ran import what_ran
from assay.records.builds import BuildRecord
from assay.records.claims import METRIC_UNITS
from assay.records.evaluations import Metric, NotRun, Term
from assay.records.measurements import ArmFacts, BenchmarkRecord
from assay.records.units import Unit, quantity, short
from assay.records.verdicts import Status
from assay.records.workloads import Workload
from assay.shared.counting import agreeing, counted
from assay.statistics import roofline
from assay.statistics import summaries as stats
from assay.statistics.looks import look_of
from assay.statistics.summaries import Summary

METRIC_UNIT = {metric: min(units).base for metric, units in METRIC_UNITS.items()}
"""The unit that a metric is judged in, whichever of its own a claim has."""

COUNTED = (Metric.RATE, Metric.RATE_RATIO, Metric.BANDWIDTH)
"""What counts work: a time does not."""


@once
def measure_term(
    case: Case, target: str, metric: Metric, term: Term, formula: Counting
) -> Measured | Failure:
    """Measure one term on one target: every gate first, then the quantity."""
    try:
        found = _gated(case, target, term) or _measure(case, target, metric, term, formula)
    except formulas.Uncounted as error:
        found = not_run(NotRun.NOT_RECORDED, str(error))
    return replace(found, evidence=evidence_paths(case, target, term))


def _gated(case: Case, target: str, term: Term) -> Failure | None:
    """Return why the times of a term do not count, or None."""
    correctness = case.evidence.correctness.get((target, term.comparison))
    if correctness is None:
        return absent(case, target, term)
    if failure := gate_term(case, correctness, term):
        return failure
    record = case.evidence.benchmarks.get((target, term.comparison))
    if record is None:
        text = f"Comparison {term.comparison} was checked but not timed."
        return not_run(NotRun.RUN_FAILED, text)
    for arm in arms_of(term):
        if failure := gate_record(case, record, correctness, arm, arm == term.arm):
            return failure
    return None


def evidence_paths(case: Case, target: str, term: Term) -> tuple[str, ...]:
    """Return the records that a term rests on, as far as they exist."""
    key, evidence = (target, term.comparison), case.evidence
    arch = case.catalog.targets[target].arch
    arms = map(case.catalog.comparisons[term.comparison].arm, arms_of(term))
    paths = (
        benchmark_path(*key) if key in evidence.benchmarks else None,
        correctness_path(*key) if key in evidence.correctness else None,
        *(build_record_path(evidence, arm.variant, arch) for arm in arms),
    )
    return with_platform(case, target, tuple(filter(None, paths)))


def _measure(
    case: Case, target: str, metric: Metric, term: Term, formula: Counting
) -> Measured | Failure:
    record = case.evidence.benchmarks[target, term.comparison]
    facts = {entry.arm: entry for entry in record.processes[0].arms}
    mine = facts[term.arm]
    workload = case.catalog.workloads[mine.workload]
    judging, control = case.catalog.judging, case.catalog.comparisons[term.comparison].control
    summary = (
        stats.time_ratio(record, term.arm, term.over, judging)
        if term.over
        else stats.arm_time(record, term.arm, judging)
    )
    times = {arm: stats.median_ms(record, arm) for arm in arms_of(term)}
    own_ms = times[term.arm]
    if summary is None or own_ms is None:
        return Failure(Status.INCONCLUSIVE, "no_usable_blocks", _unusable(record, term))
    summary, limit, counts = _in_metric(case, target, metric, term, formula, facts, summary)
    peaks = case.catalog.targets[target].peaks
    workloads = case.catalog.workloads
    parts = [describe(facts[arm], workloads[facts[arm].workload]) for arm in arms_of(term)]
    l2 = f"{case.catalog.protocols[record.protocol].l2} L2"
    runs, remarks = counted(len(record.processes), "process", "processes"), ""
    if record.looks:
        runs += f" (look {look_of(record.looks, len(record.processes))} of {len(record.looks)})"
        remarks = "; ".join(record.remarks)
    return Measured(
        summary=summary,
        unit=METRIC_UNIT[metric],
        code=what_ran(case, target, [facts[arm].variant for arm in arms_of(term)]),
        controlled=True,
        control=stats.time_ratio(record, control, stats.CONTROL, judging),
        roofline_fraction=roofline.fraction(own_ms, mine, workload.dtype, peaks) or None,
        broken=_broken(case, target, record, facts, times),
        limit=limit,
        binary_sha256=mine.binary_sha256,
        gpu_uuid=record.gpu_uuid,
        ran=f"{' over '.join(parts)}; {l2}, {runs}",
        work_ratio=counts.factor if metric is Metric.RATE else None,
        notes=(
            *((counts.sentence,) if counts.sentence and metric in COUNTED else ()),
            *([f"Its record remarks: {remarks}."] if remarks else []),
            *_of_earlier_sources(case, target, [facts[arm] for arm in arms_of(term)]),
        ),
        evidence=(),
    )


def _of_earlier_sources(case: Case, target: str, arms: Sequence[ArmFacts]) -> Iterator[str]:
    """Sentences on recorded figures whose kernels have another source by now, and not the same
    device code."""
    arch, provision = case.catalog.targets[target].arch, case.provision(target)
    for variant, measured in {arm.variant: arm.binary_sha256 for arm in arms}.items():
        commit = provision.earlier_sources.get(variant) if provision else None
        then = case.evidence.target_builds.get(target, {}).get((variant, arch))
        now = case.evidence.builds.get((variant, arch))
        known = then is not None and then.artifact and then.artifact.sha256 == measured
        same = _same_code(then, now) if then is not None and known else None
        if commit and not same:
            code = "so has its machine code" if same is False else "machine codes were not compared"
            yield (
                f"{variant} was measured as compiled at commit {commit[:12]}. Its source has "
                f"changed since, and {code}."
            )


def _same_code(then: BuildRecord, now: BuildRecord | None) -> bool | None:
    """Return whether two builds have the same machine code; None where nobody looked."""
    if now is None:
        return None
    if then.cubins and then.cubins == now.cubins:
        return True
    known = then.code_sha256 is not None and now.code_sha256 is not None
    return then.code_sha256 == now.code_sha256 if known else None


def _unusable(record: BenchmarkRecord, term: Term) -> str:
    """Why there is nothing to summarise, and what would help."""
    blocks = [block for process in record.processes for block in process.blocks]
    voids = Counter(block.void for block in blocks if block.void is not None)
    causes = "; ".join(f"{cause} ({count})" for cause, count in voids.items())
    text = f"Comparison {term.comparison} has no usable block of {' and '.join(arms_of(term))}"
    if causes:
        text += (
            f": {voids.total()} of {counted(len(blocks), 'block')} "
            f"{agreeing(voids.total(), 'was', 'were')} discarded, {causes}"
        )
    fewest = stats.fewest_of(record)
    return (
        f"{text}. What would decide it: a run in which at least {fewest} processes "
        f"have {stats.MIN_BLOCKS} usable blocks each."
    )


def _in_metric(
    case: Case,
    target: str,
    metric: Metric,
    term: Term,
    formula: Counting,
    facts: dict[str, ArmFacts],
    summary: Summary,
) -> tuple[Summary, float | None, Conversion]:
    """From ln(ms), or ln(time over / time arm), to the metric's base unit, with the best value that
    the roofline allows there, and how the work was counted.
    """
    mine, peaks = facts[term.arm], case.catalog.targets[target].peaks
    workload = case.catalog.workloads[mine.workload]
    convert = formulas.for_traffic if metric is Metric.BANDWIDTH else formulas.for_benchmark
    counts = convert(formula, mine, workload)
    match metric:
        case Metric.RATE:
            limit = roofline.rate_limit_tflop_per_s(mine, workload.dtype, peaks) * counts.factor
            return summary.inverse(mine.flop * 1e-9 * counts.factor), limit, counts
        case Metric.TIME:
            return summary, roofline.bound_ms(mine, workload.dtype, peaks) or None, counts
        case Metric.BANDWIDTH:
            most = peaks.memory_gb_per_s if counts is formulas.AS_IS else None
            return summary.inverse(mine.bytes * 1e-6 * counts.factor), most, counts
        case Metric.RATE_RATIO if term.over is not None:
            theirs = facts[term.over]
            over = formulas.for_benchmark(formula, theirs, case.catalog.workloads[theirs.workload])
            ratio = mine.flop * counts.factor / (theirs.flop * over.factor)
            return summary.scaled(ratio), None, counts
    return summary, None, counts


def _broken(
    case: Case,
    target: str,
    record: BenchmarkRecord,
    facts: dict[str, ArmFacts],
    times: dict[str, float | None],
) -> str | None:
    """A sentence when an arm's time is below what the hardware can do."""
    entry = case.catalog.targets[target]
    l2 = case.catalog.protocols[record.protocol].l2
    for arm, time in times.items():
        dtype = case.catalog.workloads[facts[arm].workload].dtype
        floor = roofline.floor_ms(facts[arm], dtype, entry, l2)
        if time is not None and time < floor:
            return (
                f"arm {arm} was timed at {quantity(time, Unit.MS)}, below the "
                f"{quantity(floor, Unit.MS)} that the datasheet of {entry.product} allows: a "
                "broken measurement, not a record"
            )
    return None


def describe(facts: ArmFacts, workload: Workload) -> str:
    """Return variant and problem of one arm, in words."""
    names = ("m", "n", "k", "groups", "batch", "heads", "seq_q", "seq_kv", "head_dim")
    sizes = [(name, getattr(workload, name)) for name in names] + [*workload.parameters.items()]
    shape = " ".join(f"{name}={size}" for name, size in sizes if size is not None)
    values = "values of the project's" if workload.code else workload.distribution
    text = f"{facts.variant} on {shape} {workload.dtype} {values}"
    if workload.causal:
        text += ", causal"
    if workload.kv_heads is not None:
        text += f", {workload.kv_heads} heads of K and V"
    if workload.layout != "bhsd":
        text += f", {workload.layout}"
    if workload.window_left is not None or workload.window_right is not None:
        bounds = (workload.window_left, workload.window_right)
        left, right = ("any" if bound is None else str(bound) for bound in bounds)
        text += f", window of {left} before and {right} behind"
    if workload.output_dtype is not None:
        text += f", output {workload.output_dtype}"
    for label, pattern in (("", workload.pattern), ("B: ", workload.pattern_b)):
        if pattern is not None:
            text += (
                f", {label}{pattern.kind} {pattern.block_rows}x{pattern.block_cols} blocks, "
                f"{pattern.blocks_per_row} a row"
            )
    if facts.density is not None and not math.isclose(facts.density, 1):
        text += f" (density {short(facts.density)})"
    return text

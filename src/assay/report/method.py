"""The method's part of the report: rules, protocols, and what the counts of a run do not say."""

from collections.abc import Iterator, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.binary_matches import told
from assay.findings.headline import KINDS, Outcome, causes
from assay.findings.run_summary import Chance, RunSummary, TargetSummary
from assay.records.verdicts import Status
from assay.records.workloads import Protocol
from assay.report import formatting as fmt
from assay.report.formatting import Fact
from assay.shared.counting import agreeing, counted
from assay.shared.limits import MAX_SAMPLES, MAX_SETTLING


def rules(catalog: Catalog) -> Iterator[str]:
    """Yield how verdicts are reached, said from the constants that decide."""
    judging = catalog.judging
    level = fmt.declared_percent(judging.confidence)
    yield (
        "The margin of a claimed figure was declared before the run: "
        f"{fmt.declared_percent(judging.absolute_margin)} for absolute figures, "
        f"{fmt.declared_percent(judging.ratio_margin)} for ratios. The claim is reproduced when "
        f"the whole {level} confidence interval lies inside the margin. It is exceeded or not "
        "reproduced when the whole interval lies outside, on the better or on the worse side: more "
        "is better, of a time less. Otherwise it is inconclusive. The plot and the table turn a "
        "rival's lead round, so that less of it lies ahead; a verdict takes it as it is claimed."
    )
    yield (
        "A claim of at least (or at most) a figure has no margin. It is reproduced when the whole "
        "interval is on the claimed side of the figure, not reproduced when it is wholly on the "
        "other, and never exceeded. What is said to be the same is not reproduced where it lies "
        "beyond the margin on either side."
    )
    yield (
        "A ratio of two figures that their source states is no better than the worse of them, "
        "wherever the ratio itself lies: two figures that are both too low may well have the "
        "claimed ratio. Its cause is then that a part is missed."
    )
    yield (
        "A claim that must hold for several shapes is judged by its worst one: it is reproduced "
        "only where each of them is."
    )
    yield (
        "Each comparison times one binary twice, under two names. Where these two differ by more "
        "than the margin, or by more than the distance to a one-sided figure, the verdict is "
        "inconclusive: the machine was too noisy to tell."
    )
    yield "A kernel whose output is wrong has no time."
    yield (
        "Intervals count fresh processes, not launches. They come from a hierarchical bootstrap "
        f"of processes, blocks and launches ({judging.bootstrap_resamples} resamples, seed "
        f"{judging.bootstrap_seed}). They are stretched to Student's t over processes and widened "
        f"by a factor of {judging.width_factor}; docs/statistics.md shows their coverage. "
        f"Original programs run in "
        f"{counted(judging.program_runs, 'fresh process', 'fresh processes')}. "
        f"Correctness uses seeds {', '.join(map(str, judging.correctness_seeds))}."
    )
    yield (
        "A kernel that was rebuilt here from a description may be slower than claimed. That does "
        "not say that the original was wrong. The claim's details tell what was rebuilt, from "
        "which statements, and how fast that is."
    )


def protocols(catalog: Catalog, evidence: Evidence) -> Iterator[Fact]:
    """Yield the protocols that the plan's comparisons follow, in words."""
    names = {
        catalog.comparisons[name].protocol
        for plan in evidence.plan.targets
        for name in plan.comparisons
    }
    for name in sorted(names):
        yield Fact(name, _protocol(catalog.protocols[name]))


def _protocol(protocol: Protocol) -> str:
    timer = "CUDA events" if protocol.timer == "events" else "CUDA events round graphs"
    return (
        f"{counted(protocol.processes, 'fresh process', 'fresh processes')}; "
        f"{counted(protocol.blocks, 'randomised ABBA block')} in each; "
        f"two turns an arm and block. {_turn(protocol)} {protocol.l2.capitalize()} L2; {timer}. "
        f"Warm-up of {fmt.short(protocol.warmup_min_ms)} to "
        f"{fmt.short(protocol.warmup_max_ms)} ms, until successive medians differ by less "
        f"than {fmt.declared_percent(protocol.warmup_stable_fraction)}. NVML every "
        f"{fmt.short(protocol.telemetry_interval_ms)} ms. "
        f"{fmt.declared_percent(protocol.checked_turns)} of the turns are checked against the "
        "oracle."
    )


def _turn(protocol: Protocol) -> str:
    """Return what one turn holds, and which launches are too short to fill it."""
    launches = "launches" if protocol.timer == "events" else "graphs of many launches"
    text = f"A turn times {protocol.samples} {launches}"
    short = "launches" if protocol.timer == "events" else "graphs"
    if protocol.turn_min_ms and protocol.samples < MAX_SAMPLES:
        text += (
            f", or as many as fill {fmt.short(protocol.turn_min_ms)} ms, but no more than "
            f"{MAX_SAMPLES}: {short} of less than "
            f"{protocol.turn_min_ms / MAX_SAMPLES:.3g} ms make it shorter"
        )
    if protocol.settle_ms:
        text += (
            f". Before it, {fmt.short(protocol.settle_ms)} ms of the same arm do not count, in no "
            f"more than {MAX_SETTLING} launches: those of less than "
            f"{protocol.settle_ms / MAX_SETTLING:.3g} ms settle for less"
        )
    return f"{text}."


def remarks(summary: RunSummary, counted_things: Sequence[Outcome]) -> Iterator[str]:
    """Yield how figures were counted, what chance may do to verdicts, and what a run took."""
    yield from _counting(summary)
    yield from _not_run([each for each in counted_things if each.status is Status.NOT_RUN])
    yield from _chance(summary.chance)
    if summary.binaries:
        yield told(summary.binaries)
    if summary.not_compiled:
        yield summary.not_compiled
    yield from (_effort(target) for target in summary.targets if _measured(target))


def _counting(summary: RunSummary) -> Iterator[str]:
    verdicts = counted(summary.total, "verdict")
    if not (summary.measured_here or summary.figures_recorded):
        yield f"{verdicts}, none of which rests on a measurement."
        return
    here, before = summary.figures_here, summary.figures_recorded
    yield (
        f"verdicts.json holds {verdicts}, one for each claim on each GPU: {here} with a figure of "
        f"this run, {before} with one of an earlier, signed report."
    )
    yield (
        "Numbers on this page count each thing once. A claim counts by its verdict on the GPU that "
        "its source names, or else on the GPU that stood in for it. A measurement that answers "
        "several claims is one figure, told by the worst of them, and so is a sentence that states "
        "several."
    )


def _not_run(idle: Sequence[Outcome]) -> Iterator[str]:
    if not idle:
        return
    numbers = {kind: sum(each.kind == kind for each in idle) for kind in KINDS}
    what = " and ".join(counted(number, *KINDS[kind]) for kind, number in numbers.items() if number)
    listed = ", ".join(f"{count} {why.short}" for why, count in causes(idle).items())
    yield f"Not run: {what}. By cause: {listed}."


def _chance(chance: Chance) -> Iterator[str]:
    """Yield what sampling alone may do to verdicts, and which of them share samples."""
    if not chance.judged:
        return
    still = chance.judged - chance.decided
    left = f"{still} {agreeing(still, 'stays', 'stay')} open"
    yield (
        f"{counted(chance.judged, 'verdict')} on a GPU that the source names "
        f"{agreeing(chance.judged, 'holds', 'hold')} a claim against a measured interval: "
        f"{chance.decided} {agreeing(chance.decided, 'is', 'are')} decided, {left}. The intervals "
        f"hold at {fmt.declared_percent(chance.confidence)} confidence, so that scatter of the "
        "samples makes a decided verdict wrong with a probability of "
        f"{fmt.declared_percent(chance.alpha)} at most."
    )
    one_sided = chance.judged - chance.with_margin
    if chance.with_margin:
        yield (
            f"{chance.with_margin} of them {agreeing(chance.with_margin, 'has', 'have')} a margin "
            "on both sides. With intervals as wide as these, "
            f"{fmt.rough(chance.expected_inconclusive)} of them would stay inconclusive on average "
            "if each claim were exactly true."
        )
    if one_sided:
        yield (
            f"{one_sided} of them {agreeing(one_sided, 'is', 'are')} one-sided (at least or at "
            "most). A true value exactly at such a bound stays undecided, however long it is "
            "measured."
        )
    if chance.shared:
        yield (
            f"They rest on {counted(chance.measurements, 'different measurement')}. Those that "
            "share one are right or wrong together, and each says so."
        )


def _measured(target: TargetSummary) -> bool:
    return bool(target.samples) or any(target.seconds.values())


def _effort(target: TargetSummary) -> str:
    stages = ", ".join(
        f"{stage} {fmt.duration(seconds)}" for stage, seconds in target.seconds.items() if seconds
    )
    return (
        f"{target.name}: {counted(target.samples, 'sample')} in "
        f"{counted(target.blocks, 'block')}, {target.discarded_blocks} of them discarded. Time: "
        f"{stages}. The benchmarks' launches alone took {fmt.duration(target.gpu_seconds)} by CUDA "
        "events."
    )

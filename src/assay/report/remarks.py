"""What the counts of a run do not say by themselves, in plain sentences."""

from collections.abc import Iterator

from assay.findings.binary_matches import told
from assay.findings.run_summary import Chance, RunSummary, TargetSummary
from assay.report import formatting as fmt
from assay.shared.counting import agreeing, counted


def remarks(summary: RunSummary) -> Iterator[str]:
    """Yield how figures were counted, what chance may do to verdicts, and what a run took."""
    yield from _counting(summary)
    if summary.not_run_reasons:
        listed = ", ".join(
            f"{fmt.words(reason)} ({count})" for reason, count in summary.not_run_reasons.items()
        )
        yield f"What was not run, by reason: {listed}."
    yield from _chance(summary.chance)
    if summary.binaries:
        yield told(summary.binaries)
    if summary.not_compiled:
        yield summary.not_compiled
    yield from (_effort(target) for target in summary.targets if _measured(target))


def _counting(summary: RunSummary) -> Iterator[str]:
    if not (summary.measured_here or summary.figures_recorded):
        yield f"{counted(summary.total, 'verdict')}, none of which rests on a measurement."
        return
    here, before = summary.figures_here, summary.figures_recorded
    yield (
        f"There are {counted(summary.total, 'verdict')}. {counted(here, 'figure')} "
        f"{agreeing(here, 'was', 'were')} measured in this run; {before} "
        f"{agreeing(before, 'comes', 'come')} from an earlier, signed report."
    )
    yield (
        "The counts are of measurements, not of verdicts. A measurement that answers several "
        "claims counts once, by the worst of its verdicts, and once in each source that it answers."
    )


def _chance(chance: Chance) -> Iterator[str]:
    """Yield what sampling alone may do: wrong and open verdicts to expect, and shared samples."""
    if not chance.judged:
        return
    level = fmt.percent(chance.confidence)
    yield (
        f"{counted(chance.judged, 'verdict')} {agreeing(chance.judged, 'rests', 'rest')} on an "
        f"interval, and {chance.decided} of them {agreeing(chance.decided, 'is', 'are')} decided. "
        f"The intervals hold at {level} confidence. In the worst case, with every true value at "
        f"an edge of what is allowed, chance makes {fmt.rough(chance.expected_wrong)} of these "
        "verdicts wrong."
    )
    one_sided = chance.judged - chance.with_margin
    if chance.with_margin:
        yield (
            f"{counted(chance.with_margin, 'verdict')} "
            f"{agreeing(chance.with_margin, 'has', 'have')} a margin. If every such "
            "figure were exactly true, chance would leave "
            f"{fmt.rough(chance.expected_inconclusive)} of them inconclusive."
        )
    if one_sided:
        yield (
            f"{counted(one_sided, 'verdict')} {agreeing(one_sided, 'is', 'are')} one-sided (at "
            "least or at most). A true value exactly at such a bound stays undecided, however "
            "long it is measured."
        )
    if chance.families:
        yield (
            f"The verdicts rest on {counted(chance.measurements, 'different measurement')}. Those "
            "that share one are right or wrong together, and each says so."
        )


def _measured(target: TargetSummary) -> bool:
    return bool(target.samples) or any(target.seconds.values())


def _effort(target: TargetSummary) -> str:
    stages = ", ".join(
        f"{stage} {fmt.duration(seconds)}" for stage, seconds in target.seconds.items() if seconds
    )
    return (
        f"{target.product or target.target}: {counted(target.samples, 'sample')} in "
        f"{counted(target.blocks, 'block')}, {target.discarded_blocks} of them discarded. Time: "
        f"{stages}. The benchmarks' launches alone took {fmt.duration(target.gpu_seconds)} by CUDA "
        "events."
    )

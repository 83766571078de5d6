"""What the counts of a run do not say by themselves, in plain sentences."""

from collections.abc import Iterator, Sequence

from assay.findings.binary_matches import told
from assay.findings.headline import KINDS, Outcome, causes
from assay.findings.run_summary import Chance, RunSummary, TargetSummary
from assay.records.verdicts import Status
from assay.report import formatting as fmt
from assay.shared.counting import agreeing, counted


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
    if chance.families:
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
        f"{target.product or target.target}: {counted(target.samples, 'sample')} in "
        f"{counted(target.blocks, 'block')}, {target.discarded_blocks} of them discarded. Time: "
        f"{stages}. The benchmarks' launches alone took {fmt.duration(target.gpu_seconds)} by CUDA "
        "events."
    )

"""The summary of a run, counted for the report, which must not compute. Pure."""

import math
from dataclasses import dataclass

from scipy.special import stdtr

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.binary_matches import BinaryMatch, binary_matches, told_not_compiled
from assay.records.units import Unit
from assay.records.verdicts import Verdict, VerdictsFile
from assay.records.workloads import Judging
from assay.statistics.intervals import half_width
from assay.statistics.summaries import MIN_PROCESSES


@dataclass(frozen=True)
class Chance:
    """The expected effect of chance alone on the verdicts that rest on an interval."""

    judged: int
    """Verdicts with an interval."""
    with_margin: int
    """Those of them whose claim has a margin; the others are one-sided, at least or at most."""
    measurements: int
    """Different measurements that these rest on: no more than so many are independent."""
    shared: int
    """Measurements that answer more than one claim: these are right or wrong together."""
    decided: int
    """Verdicts that are not inconclusive."""
    confidence: float
    alpha: float
    """Chance of one wrong decided verdict, at most: each of the two one-sided tests'."""
    expected_inconclusive: float
    """Inconclusive verdicts to expect by chance with intervals this wide, were every figure that
    is claimed with a margin exactly true. Of one-sided claims nothing is expected: at its bound a
    true figure cannot be decided, however narrow the interval."""

    @property
    def undecided(self) -> int:
        """Return how many verdicts are inconclusive."""
        return self.judged - self.decided

    @property
    def one_sided(self) -> int:
        """Return how many verdicts are on claims of at least, or at most, a figure."""
        return self.judged - self.with_margin


@dataclass(frozen=True)
class TargetSummary:
    """What the measuring of one target's figures took."""

    name: str
    """The GPU's product, or the target's where none was measured."""
    seconds: dict[str, float]
    """Wall-clock seconds of the stages correctness, benchmark and program, where they took any."""
    gpu_seconds: float
    """Launches of the benchmarks, timed, warming up and settling, as CUDA events measured them."""
    samples: int
    blocks: int
    discarded_blocks: int


@dataclass(frozen=True)
class RunSummary:
    """Everything the report says of a run as a whole."""

    total: int
    """Verdicts: rows, however many of them one measurement answers."""
    chance: Chance
    binaries: tuple[BinaryMatch, ...]
    not_compiled: str | None
    """What this run left uncompiled, in a sentence."""
    targets: tuple[TargetSummary, ...]
    measured_here: bool
    """Whether any target was measured in this run."""
    figures_here: int
    """Verdicts whose figure was measured in this run."""
    figures_recorded: int
    """Verdicts whose figure comes from an earlier report."""


def summarise(catalog: Catalog, evidence: Evidence, verdicts: VerdictsFile) -> RunSummary:
    """Counts and facts of a run."""
    every = verdicts.verdicts
    on = [v.measured_on.in_this_run for v in every if v.measured_on and v.measured is not None]
    return RunSummary(
        total=len(every),
        chance=_chance(catalog, verdicts),
        binaries=binary_matches(catalog, evidence),
        not_compiled=told_not_compiled(evidence.plan),
        targets=tuple(_target(evidence, plan.target) for plan in evidence.plan.targets),
        measured_here=any(plan.provision.kind == "device" for plan in evidence.plan.targets),
        figures_here=sum(on),
        figures_recorded=len(on) - sum(on),
    )


def _chance(catalog: Catalog, verdicts: VerdictsFile) -> Chance:
    with_interval = [
        verdict
        for verdict in verdicts.verdicts
        if verdict.ci90 is not None and verdict.status.facts.basis == "interval"
    ]
    measurements = {
        (v.target, tuple(sorted((v.claim, *v.same_measurement)))) for v in with_interval
    }
    missed = [_chance_of_inconclusive(verdict, catalog.judging) for verdict in with_interval]
    confidence = catalog.judging.confidence
    return Chance(
        judged=len(with_interval),
        with_margin=sum(v.margin is not None for v in with_interval),
        measurements=len(measurements),
        shared=sum(len(claims) > 1 for _, claims in measurements),
        decided=sum(v.status.facts.decided for v in with_interval),
        confidence=confidence,
        alpha=round((1 - confidence) / 2, 12),
        expected_inconclusive=round(math.fsum(missed), 6),
    )


def _chance_of_inconclusive(verdict: Verdict, judging: Judging) -> float:
    """Chance that an interval this wide around a true figure would leave the margin.

    By Student's t with the fewest processes that a verdict may rest on. 0 for one-sided claims: a
    figure that is exactly met is undecidable there.
    """
    if verdict.margin is None or verdict.ci90 is None:
        return 0.0
    low, high = verdict.ci90
    if verdict.unit == Unit.PERCENT.value:
        low, high = 1 + low / 100, 1 + high / 100
    if low <= 0:
        return 1.0
    half, edge = math.log(high / low) / 2, math.log1p(verdict.margin)
    if half >= edge:
        return 1.0
    unit = half_width(1.0, MIN_PROCESSES, judging) * math.sqrt(MIN_PROCESSES)
    return 2 * float(stdtr(MIN_PROCESSES - 1, -(edge - half) * unit / half)) if half else 0.0


def _target(evidence: Evidence, name: str) -> TargetSummary:
    platform = evidence.platforms.get(name)
    benchmarks = [r for (target, _), r in evidence.benchmarks.items() if target == name]
    correctness = [r for (target, _), r in evidence.correctness.items() if target == name]
    programs = [r for (target, _), r in evidence.programs.items() if target == name]
    processes = [process for record in benchmarks for process in record.processes]
    blocks = [block for process in processes for block in process.blocks]
    taken = {
        "correctness": math.fsum(record.seconds for record in correctness),
        "benchmark": math.fsum(record.seconds for record in benchmarks),
        "program": math.fsum(
            run.seconds
            for record in programs
            for run in (*record.runs, *filter(None, (record.verification,)))
        ),
    }
    return TargetSummary(
        name=platform.device.gpu.product if platform else name,
        seconds={stage: seconds for stage, seconds in taken.items() if seconds},
        gpu_seconds=math.fsum(process.gpu_seconds for process in processes),
        samples=sum(len(turn.times_ms) for block in blocks for turn in block.turns),
        blocks=len(blocks),
        discarded_blocks=sum(block.void is not None for block in blocks),
    )

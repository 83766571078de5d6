"""The summary of a run, counted for the report, which must not compute. Pure."""

import math
from dataclasses import dataclass

from scipy.special import stdtr

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.binary_matches import BinaryMatch, binary_matches, told_not_compiled
from assay.records.plan import TargetPlan
from assay.records.platform import PlatformRecord
from assay.records.units import Unit
from assay.records.verdicts import Verdict, VerdictsFile
from assay.records.workloads import Judging
from assay.statistics.intervals import half_width
from assay.statistics.summaries import MIN_PROCESSES


@dataclass(frozen=True)
class Family:
    """Claims of one target that one measurement answers: one observation, several verdicts."""

    target: str | None
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Chance:
    """The expected effect of chance alone on the verdicts that rest on an interval.

    Expected numbers hold whether verdicts are independent or not; those of a family are wrong
    together or not at all.
    """

    judged: int
    """Verdicts with an interval."""
    with_margin: int
    """Those of them whose claim has a margin; the others are one-sided, at least or at most."""
    measurements: int
    """Different measurements that these rest on: no more than so many are independent."""
    families: tuple[Family, ...]
    """Measurements that answer more than one claim, largest first."""
    decided: int
    """Those of them that are not inconclusive."""
    confidence: float
    alpha: float
    """Chance of one wrong decided verdict, at most: each of the two one-sided tests'."""
    expected_wrong: float
    """alpha * judged: wrong verdicts to expect at most, were every claim at the margin's edge."""
    expected_missed: float
    """(1 - confidence) * judged: intervals that miss the true value."""
    expected_inconclusive: float
    """Inconclusive verdicts to expect by chance with intervals this wide, were every figure that
    is claimed with a margin exactly true. Of one-sided claims nothing is expected: at its bound a
    true figure cannot be decided, however narrow the interval."""


@dataclass(frozen=True)
class TargetSummary:
    """The place and time at which one target's figures were measured, and what that took."""

    target: str
    kind: str
    """``device``: in this run; ``recorded``: taken from a report; ``none``."""
    recorded_in: str | None
    detail: str
    product: str | None
    gpu_uuid: str | None
    driver: str | None
    power_limit_w: float | None
    recorded_at: str | None
    seconds: dict[str, float]
    """Wall-clock seconds of the stages correctness, benchmark and program."""
    gpu_seconds: float
    """Launches of the benchmarks, timed, warming up and settling, as CUDA events measured them."""
    samples: int
    blocks: int
    discarded_blocks: int


@dataclass(frozen=True)
class RunSummary:
    """Everything the report says of a run as a whole."""

    run: str
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
    targets = tuple(_target(evidence, plan) for plan in evidence.plan.targets)
    return RunSummary(
        run=verdicts.run,
        total=len(every),
        chance=_chance(catalog, verdicts),
        binaries=binary_matches(catalog, evidence),
        not_compiled=told_not_compiled(evidence.plan),
        targets=targets,
        measured_here=any(target.kind == "device" for target in targets),
        figures_here=sum(on),
        figures_recorded=len(on) - sum(on),
    )


def _chance(catalog: Catalog, verdicts: VerdictsFile) -> Chance:
    with_interval = [
        verdict
        for verdict in verdicts.verdicts
        if verdict.ci90 is not None and verdict.status.facts.basis == "interval"
    ]
    families = dict.fromkeys(
        Family(target=v.target, claims=tuple(sorted((v.claim, *v.same_measurement))))
        for v in with_interval
    )
    shared = [family for family in families if len(family.claims) > 1]
    missed = [_chance_of_inconclusive(verdict, catalog.judging) for verdict in with_interval]
    confidence = catalog.judging.confidence
    alpha = round((1 - confidence) / 2, 12)
    return Chance(
        judged=len(with_interval),
        with_margin=sum(v.margin is not None for v in with_interval),
        measurements=len(families),
        families=tuple(sorted(shared, key=lambda entry: -len(entry.claims))),
        decided=sum(v.status.facts.decided for v in with_interval),
        confidence=confidence,
        alpha=alpha,
        expected_wrong=round(alpha * len(with_interval), 6),
        expected_missed=round((1 - confidence) * len(with_interval), 6),
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


def _target(evidence: Evidence, plan: TargetPlan) -> TargetSummary:
    name = plan.target
    platform: PlatformRecord | None = evidence.platforms.get(name)
    gpu = platform.device.gpu if platform else None
    benchmarks = [r for (target, _), r in evidence.benchmarks.items() if target == name]
    correctness = [r for (target, _), r in evidence.correctness.items() if target == name]
    programs = [r for (target, _), r in evidence.programs.items() if target == name]
    processes = [process for record in benchmarks for process in record.processes]
    blocks = [block for process in processes for block in process.blocks]
    return TargetSummary(
        target=name,
        kind=plan.provision.kind,
        recorded_in=plan.provision.recorded_in,
        detail=plan.provision.detail,
        product=gpu.product if gpu else None,
        gpu_uuid=gpu.uuid if gpu else None,
        driver=platform.device.driver if platform else None,
        power_limit_w=gpu.power_limit_w if gpu else None,
        recorded_at=platform.recorded_at if platform else None,
        seconds={
            "correctness": math.fsum(record.seconds for record in correctness),
            "benchmark": math.fsum(record.seconds for record in benchmarks),
            "program": math.fsum(
                run.seconds
                for record in programs
                for run in (*record.runs, *filter(None, (record.verification,)))
            ),
        },
        gpu_seconds=math.fsum(process.gpu_seconds for process in processes),
        samples=sum(len(turn.times_ms) for block in blocks for turn in block.turns),
        blocks=len(blocks),
        discarded_blocks=sum(block.void is not None for block in blocks),
    )

"""Several GPUs of one machine in one run: whether they disturb each other, and how far they differ.

Pure. What each card measured of the comparisons that all measured is judged as if it were the only
one: the same claims by the same rules.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.report_figures import UNWRITTEN, report_figures
from assay.judging.judge import judge
from assay.judging.needs import closure, comparisons_of, programs_of
from assay.records.cards import CardSetting, CardsRecord
from assay.records.measurements import BenchmarkRecord
from assay.records.plan import Answer
from assay.records.report_figures import ReportFigures
from assay.records.verdicts import VerdictsFile
from assay.records.workloads import Judging
from assay.statistics.summaries import Summary, arm_time, floor_of


class Company(StrEnum):
    """What busy neighbours are found to do."""

    HARMLESS = "harmless"
    """The whole interval lies within the margin."""
    DISTURBED = "disturbed"
    """The whole interval lies to one side of no difference, and not within the margin."""
    OPEN = "open"
    """The interval leaves it open."""


@dataclass(frozen=True)
class ArmBeside:
    """One arm of the control, beside busy neighbours and alone, on one card."""

    arm: str
    ratio: Summary
    """ln(time beside / time alone)."""


@dataclass(frozen=True)
class Disturbance:
    """What became of the control of one target."""

    target: str
    gpu_uuid: str
    neighbours: int
    control: ArmBeside
    """The arm that is measured under two names: by it is judged."""
    arms: tuple[ArmBeside, ...]
    company: Company
    beyond: float
    """No disturbance is left possible beyond this fraction."""
    margin: float


def disturbances(catalog: Catalog, evidence: Evidence) -> list[Disturbance]:
    """Return what is known of each target whose GPUs were held against each other."""
    found = (disturbance(catalog, record) for record in evidence.cards.values())
    return [each for each in found if each is not None]


def disturbance(catalog: Catalog, record: CardsRecord) -> Disturbance | None:
    """Return what busy neighbours did to the control; None where too little was measured."""
    judging = catalog.judging
    alone, beside = (
        _pooled(record, record.gpu_uuid, record.control, setting) for setting in _SETTINGS
    )
    if alone is None or beside is None:
        return None
    asked = catalog.comparisons[record.control]
    arms = tuple(_beside(arm.id, alone, beside, judging) for arm in asked.arms)
    known = tuple(arm for arm in arms if arm is not None)
    control = next((arm for arm in known if arm.arm == asked.control), None)
    if control is None:
        return None
    neighbours = {gpu for run in record.runs for gpu in run.neighbours} - {record.gpu_uuid}
    return Disturbance(
        target=record.target,
        gpu_uuid=record.gpu_uuid,
        neighbours=len(neighbours),
        control=control,
        arms=known,
        company=_company(control.ratio, judging.neighbour_margin),
        beyond=floor_of(control.ratio) or 0.0,
        margin=judging.neighbour_margin,
    )


_SETTINGS: tuple[CardSetting, ...] = ("alone", "beside")


def _company(ratio: Summary, margin: float) -> Company:
    low, high = ratio.interval()
    if 1 / (1 + margin) < low and high < 1 + margin:
        return Company.HARMLESS
    return Company.OPEN if low <= 1 <= high else Company.DISTURBED


def _beside(
    arm: str, alone: BenchmarkRecord, beside: BenchmarkRecord, judging: Judging
) -> ArmBeside | None:
    times = [arm_time(record, arm, judging) for record in (beside, alone)]
    first, second = times
    return ArmBeside(arm, first.over(second)) if first and second else None


def _pooled(
    record: CardsRecord, gpu: str, comparison: str, setting: CardSetting
) -> BenchmarkRecord | None:
    """Return all processes of one setting on one card, as one record."""
    runs = [
        run.benchmark
        for run in record.runs
        if (run.benchmark.gpu_uuid, run.benchmark.comparison, run.setting)
        == (gpu, comparison, setting)
    ]
    if not runs:
        return None
    processes = tuple(process for run in runs for process in run.processes)
    dropped = {arm: why for run in runs for arm, why in run.not_timed.items()}
    return runs[0].model_copy(update={"processes": processes, "not_timed": dropped})


@dataclass(frozen=True)
class CardFigures:
    """What one card of a machine gives, of what all its cards measured beside each other."""

    target: str
    gpu_uuid: str
    verdicts: VerdictsFile
    figures: ReportFigures


def card_figures(catalog: Catalog, evidence: Evidence) -> list[CardFigures]:
    """Return what each card gives, of every target with several."""
    return [
        figures
        for target, record in evidence.cards.items()
        for figures in _of_target(catalog, evidence, target, record)
    ]


def _of_target(
    catalog: Catalog, evidence: Evidence, target: str, record: CardsRecord
) -> Iterator[CardFigures]:
    answers = _answers(catalog, evidence, target, record)
    for gpu in dict.fromkeys(gate.gpu_uuid for gate in record.gates):
        only = _evidence_of(evidence, target, record, gpu, answers)
        if only is None or not answers:
            continue
        verdicts = judge(catalog, only)
        figures = report_figures(
            catalog,
            only,
            verdicts,
            commit=None,
            created=None,
            manifest_sha256=UNWRITTEN,
            rates=False,
        )
        yield CardFigures(target, gpu, verdicts, figures)


def _answers(
    catalog: Catalog, evidence: Evidence, target: str, record: CardsRecord
) -> tuple[Answer, ...]:
    """Return the answers that rest on nothing but what every card measured."""
    measured = {gate.comparison for gate in record.gates}
    found = []
    for answer in evidence.plan.answers:
        claim = catalog.claims.get(answer.claim)
        if claim is None or answer.target != target or answer.way == "not_run":
            continue
        needed = closure(catalog, [claim])
        comparisons = set(comparisons_of(catalog, needed))
        if comparisons and comparisons <= measured and not programs_of(needed):
            found.append(answer)
    return tuple(found)


def _evidence_of(
    evidence: Evidence, target: str, record: CardsRecord, gpu: str, answers: Sequence[Answer]
) -> Evidence | None:
    """Return the evidence as if a card were the target's only one."""
    machine = evidence.platforms.get(target)
    platform = machine.of_card(gpu) if machine else None
    if platform is None:
        return None
    gates = {(target, g.comparison): g for g in record.gates if g.gpu_uuid == gpu}
    timed = {key: _pooled(record, gpu, key[1], "beside") for key in gates}
    plans = tuple(plan for plan in evidence.plan.targets if plan.target == target)
    return replace(
        evidence,
        plan=evidence.plan.model_copy(update={"answers": tuple(answers), "targets": plans}),
        platforms={target: platform},
        correctness=gates,
        benchmarks={key: found for key, found in timed.items() if found is not None},
        programs={},
        originals={},
        other_runs=None,
    )

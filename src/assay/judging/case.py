"""The parts that all of the judge shares: the case, measured quantities, failures, verdicts."""

from dataclasses import dataclass, field
from typing import Any, Literal

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import platform_path
from assay.records.claims import Claim, Relation
from assay.records.evaluations import (
    PASSES,
    RUNS,
    Compiles,
    DeviceCode,
    Execution,
    NotRun,
    Program,
    Support,
)
from assay.records.plan import Answer, Provision
from assay.records.units import Unit
from assay.records.verdicts import MeasuredOn, Status, Verdict
from assay.statistics import summaries as stats
from assay.statistics.summaries import Summary

SHOWN = "shown"
"""What is claimed where words are looked for."""
Ran = Literal["original", "library", "reimplemented"]
"""The artifacts of what was run."""


@dataclass(frozen=True)
class Case:
    """Everything a judge may look at; the target is that of the answer being judged."""

    catalog: Catalog
    evidence: Evidence
    summaries: dict[object, Summary | None] = field(default_factory=dict, repr=False)
    """Many claims rest on the same samples: each arm and each pair of arms is summarised once."""

    def arm_time(self, target: str, comparison: str, arm: str) -> Summary | None:
        """Return ``stats.arm_time`` of a benchmark record that is among the evidence."""
        judging = self.catalog.judging
        key = (target, comparison, arm, judging)
        if key not in self.summaries:
            record = self.evidence.benchmarks[target, comparison]
            self.summaries[key] = stats.arm_time(record, arm, judging)
        return self.summaries[key]

    def median_ms(self, target: str, comparison: str, arm: str) -> float | None:
        """Return ``stats.median_ms`` of a benchmark record that is among the evidence."""
        return stats.median_ms(self.evidence.benchmarks[target, comparison], arm)

    def time_ratio(self, target: str, comparison: str, arm: str, over: str) -> Summary | None:
        """Return ``stats.time_ratio`` of a benchmark record that is among the evidence."""
        judging = self.catalog.judging
        key = (target, comparison, arm, over, judging)
        if key not in self.summaries:
            record = self.evidence.benchmarks[target, comparison]
            self.summaries[key] = stats.time_ratio(record, arm, over, judging)
        return self.summaries[key]

    def control(self, target: str, comparison: str) -> Summary | None:
        """Return the A/A control of a benchmark record that is among the evidence."""
        arm = self.catalog.comparisons[comparison].control
        return self.time_ratio(target, comparison, arm, stats.CONTROL)

    def own_statement(self, claim: str) -> bool:
        """Return whether this project itself published the claim: then nothing was rebuilt."""
        return self.catalog.sources[self.catalog.source_of[claim]].source.file is None

    def provision(self, target: str) -> Provision | None:
        """Return where the measurements of a target come from."""
        for plan in self.evidence.plan.targets:
            if plan.target == target:
                return plan.provision
        return None

    def measured_targets(self) -> tuple[str, ...]:
        """Return the targets that the plan has measurements of, in its order."""
        plans = self.evidence.plan.targets
        return tuple(plan.target for plan in plans if plan.provision.kind != "none")


@dataclass(frozen=True)
class Measured:
    """One quantity as measured on one target; ``summary`` is in ``unit``, a base unit."""

    summary: Summary
    unit: Unit
    artifact: Ran
    gpu_uuid: str
    ran: str
    notes: tuple[str, ...]
    evidence: tuple[str, ...]
    binary_sha256: str | None = None
    controlled: bool = False
    """True where an A/A control belongs to this kind of measurement."""
    control: Summary | None = None
    """The A/A control's ratio; of a quotient of two measurements, the noisier one."""
    roofline_fraction: float | None = None
    broken: str | None = None
    """Why the measurement cannot be right, or None."""
    limit: float | None = None
    """Best value the roofline allows, in ``unit``; None for ratios."""
    built_from: str | None = None
    work_ratio: float | None = None
    """FLOPs counted for each one that the launch does, of a rate."""
    packages: tuple[str, ...] = ()
    """Of libraries that ran: their published packages, each with its version."""

    @property
    def noise_floor(self) -> float | None:
        """Return the largest |log ratio| inside the control's interval, as a fraction."""
        return stats.floor_of(self.control)


@dataclass(frozen=True)
class Failure:
    """The reason why a quantity has no value that may be judged."""

    status: Status
    reason: str
    explanation: str
    evidence: tuple[str, ...] = ()
    ran: str | None = None
    binary_sha256: str | None = None
    gpu_uuid: str | None = None
    artifact: Ran | None = None


def not_run(reason: NotRun, explanation: str, evidence: tuple[str, ...] = ()) -> Failure:
    """Return a failure that says nothing of the claim."""
    return Failure(Status.NOT_RUN, reason.value, explanation, evidence)


def significant(value: float, digits: int = 6) -> float:
    """Round to significant digits, so that verdicts are the same bytes on every machine."""
    return float(f"{value:.{digits}g}")


def reported(case: Case, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return evidence paths as they stand in a report directory, without repetitions."""
    return tuple(dict.fromkeys(map(case.evidence.place, paths)))


def measured_on(case: Case, target: str, gpu_uuid: str | None) -> MeasuredOn | None:
    """Return the machine that a figure of a target was measured on, with the GPU that it was."""
    of_target = case.evidence.platforms.get(target)
    if of_target is None:
        return None
    platform = of_target.of_card(gpu_uuid or "") or of_target
    provision = case.provision(target)
    gpu = platform.device.gpu
    return MeasuredOn(
        product=gpu.product,
        uuid=gpu.uuid,
        vbios=gpu.vbios,
        driver=platform.device.driver,
        power_limit_w=gpu.power_limit_w,
        recorded_at=platform.recorded_at,
        in_this_run=provision is not None and provision.kind == "device",
    )


def with_platform(case: Case, target: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return evidence paths and the platform record beside them, where there is one."""
    return (*paths, platform_path(target)) if target in case.evidence.platforms else paths


def stated_value(claim: Claim) -> float | str | None:
    """Return what a claim states: its figure, or for a support statement the outcome in a word."""
    match claim.evaluation:
        case Support(expect=expect) | DeviceCode(expect=expect):
            return expect
        case Compiles(expect=expect, text=text):
            return expect if text is None else SHOWN
        case Execution():
            return RUNS
        case Program() if claim.value is None:
            return PASSES
    return claim.value


_MAY_BE_ABSENT = (
    "claimed", "measured", "artifact", "reason", "margin", "noise_floor", "samples",
    "discarded_blocks", "roofline_fraction", "binary_sha256", "gpu_uuid", "measured_on", "ran",
)  # fmt: skip
"""Fields of a verdict that are null where nothing gives them."""


def verdict(
    case: Case,
    answer: Answer,
    status: Status,
    explanation: str,
    *,
    claim: Claim | None = None,
    interval: tuple[float, float] | None = None,
    evidence: tuple[str, ...] = (),
    **given: Any,
) -> Verdict:
    """Return a verdict with rounded figures and report paths; what is not given is absent, but what
    the claim states.
    """
    unit = claim.unit if claim else None
    fields: dict[str, Any] = {"nearest": (), **dict.fromkeys(_MAY_BE_ABSENT)}
    fields |= {"claimed": stated_value(claim) if claim else None, **given}
    for name in ("measured", "noise_floor", "roofline_fraction"):
        if isinstance(value := fields[name], float):
            fields[name] = significant(value)
    return Verdict(
        claim=answer.claim,
        source=case.catalog.source_of[answer.claim],
        target=answer.target,
        status=status,
        explanation=explanation,
        unit=unit.value if unit else None,
        ci90=(significant(interval[0]), significant(interval[1])) if interval else None,
        relation=(claim.relation if claim else Relation.EQUALS).value,
        evidence=reported(case, evidence),
        **fields,
    )


def adding(
    case: Case, to: Verdict, words: str = "", evidence: tuple[str, ...] = (), **changes: Any
) -> Verdict:
    """Return a verdict that says more, names more records, or has other fields."""
    text = f"{to.explanation} {words}" if words else to.explanation
    paths = tuple(dict.fromkeys((*to.evidence, *reported(case, evidence))))
    return to.model_copy(update={"explanation": text, "evidence": paths, **changes})

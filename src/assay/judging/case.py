"""What all of the judge shares: the case, its questions, what was measured, failures, verdicts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import platform_path
from assay.judging.printed_figures import from_base
from assay.records import evaluations as ways
from assay.records.claims import Claim, Relation
from assay.records.evaluations import NotRun
from assay.records.plan import Answer, Provision
from assay.records.units import Unit
from assay.records.verdicts import MeasuredOn, Status, Verdict
from assay.statistics import summaries as stats
from assay.statistics.summaries import Summary

SHOWN = "shown"
"""What is claimed where words are looked for."""
P = ParamSpec("P")
T = TypeVar("T")
Ran = Literal["original", "library", "reimplemented"]
"""The artifacts of what was run."""


@dataclass(frozen=True)
class Case:
    """Everything a judge may look at; the target is that of the answer being judged."""

    catalog: Catalog
    evidence: Evidence
    kept: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was found of it, by ``once``."""

    def own_statement(self, claim: str) -> bool:
        """Return whether this project itself published the claim: then nothing was rebuilt."""
        return self.catalog.sources[self.catalog.source_of[claim]].source.file is None

    def provision(self, target: str) -> Provision | None:
        """Return where the measurements of a target come from."""
        plans = self.evidence.plan.targets
        return next((plan.provision for plan in plans if plan.target == target), None)

    def measured_targets(self) -> tuple[str, ...]:
        """Return the targets that the plan has measurements of, in its order."""
        plans = self.evidence.plan.targets
        return tuple(plan.target for plan in plans if plan.provision.kind != "none")

    def reported(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Return evidence paths as they stand in a report directory, without repetitions."""
        return tuple(dict.fromkeys(map(self.evidence.place, paths)))

    def adding(
        self, to: Verdict, words: str = "", evidence: tuple[str, ...] = (), **changes: Any
    ) -> Verdict:
        """Return a verdict that says more, names more records, or has other fields."""
        text = f"{to.explanation} {words}" if words else to.explanation
        paths = tuple(dict.fromkeys((*to.evidence, *self.reported(evidence))))
        return to.model_copy(update={"explanation": text, "evidence": paths, **changes})


def once(find: Callable[Concatenate[Case, P], T]) -> Callable[Concatenate[Case, P], T]:
    """Keep with a case what a function finds of it, for many claims ask the same; it goes with the
    case.
    """

    @wraps(find)
    def found(case: Case, /, *given: P.args, **named: P.kwargs) -> T:
        key = (find, given, *named.items())
        if key not in case.kept:
            case.kept[key] = find(case, *given, **named)
        return case.kept[key]  # type: ignore[no-any-return]

    return found


@dataclass(frozen=True)
class WhatRan:
    """The code behind one figure."""

    artifact: Ran
    made_from: str | None = None
    """The statements it was rebuilt from, or how the libraries are called."""
    packages: tuple[str, ...] = ()
    """Of libraries: their published packages, each with its version."""


ORIGINAL = WhatRan("original")


@dataclass(frozen=True)
class Measured:
    """One quantity as measured on one target; ``summary`` is in ``unit``, a base unit."""

    summary: Summary
    unit: Unit
    code: WhatRan
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
    work_ratio: float | None = None
    """FLOPs counted for each one that the launch does, of a rate."""
    shape: Mapping[str, int | bool] = field(default_factory=dict)
    """The problem that an original program reports to have run."""
    figure: str = ""
    """Which of the figures that it printed this is."""

    @property
    def noise_floor(self) -> float | None:
        """Return the largest |log ratio| inside the control's interval, as a fraction."""
        return stats.floor_of(self.control)

    def told_in(self, unit: Unit) -> tuple[float, tuple[float, float]]:
        """Return the figure and its interval in the unit of a claim, as verdicts have them."""
        ends = (self.summary.value(), *self.summary.interval())
        value, low, high = (significant(from_base(end, unit)) for end in ends)
        return value, (low, high)


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


def with_platform(case: Case, target: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return evidence paths and the platform record beside them, where there is one."""
    return (*paths, platform_path(target)) if target in case.evidence.platforms else paths


def stated_value(claim: Claim) -> float | str | None:
    """Return what a claim states: its figure, or for a support statement the outcome in a word."""
    match claim.evaluation:
        case ways.Support(expect=expect) | ways.DeviceCode(expect=expect):
            return expect
        case ways.Compiles(expect=expect, text=text):
            return expect if text is None else SHOWN
        case ways.Execution():
            return ways.RUNS
        case ways.Program() if claim.value is None:
            return ways.PASSES
    return claim.value


@dataclass(frozen=True)
class Question:
    """A claim or an audit on one target, as the plan has it, and all that may answer it."""

    case: Case
    answer: Answer
    stated: Claim | None = None
    """None of an audit."""

    @property
    def claim(self) -> Claim:
        """Return the claim that is judged: audits have verdicts of another kind alone."""
        assert self.stated is not None
        return self.stated

    @property
    def target(self) -> str:
        """Return the target that is asked about; empty for what no GPU answers."""
        return self.answer.target or ""

    def verdict(
        self,
        status: Status,
        explanation: str,
        *,
        interval: tuple[float, float] | None = None,
        evidence: tuple[str, ...] = (),
        **given: Any,
    ) -> Verdict:
        """Return a verdict with rounded figures and report paths, and the machine of its GPU; what
        is not given is absent, but what the claim states.
        """
        claim = self.stated
        required = (name for name, of in Verdict.model_fields.items() if of.is_required())
        fields: dict[str, Any] = {**dict.fromkeys(required), "nearest": ()}
        fields |= {"claimed": stated_value(claim) if claim else None, **given}
        fields["measured_on"] = self._measured_on(fields["gpu_uuid"])
        for name in ("measured", "noise_floor", "roofline_fraction"):
            if isinstance(value := fields[name], float):
                fields[name] = significant(value)
        return Verdict.model_validate(
            fields
            | {
                "claim": self.answer.claim,
                "source": self.case.catalog.source_of[self.answer.claim],
                "target": self.answer.target,
                "status": status,
                "explanation": explanation,
                "unit": claim.unit.value if claim and claim.unit else None,
                "ci90": interval and (significant(interval[0]), significant(interval[1])),
                "relation": (claim.relation if claim else Relation.EQUALS).value,
                "evidence": self.case.reported(evidence),
            }
        )

    def _measured_on(self, gpu_uuid: str | None) -> MeasuredOn | None:
        """Return the machine that a figure was measured on, with the GPU that it was."""
        platform = self.case.evidence.platforms.get(self.target)
        if platform is None or gpu_uuid is None:
            return None
        provision, gpu = self.case.provision(self.target), platform.device.gpu
        return MeasuredOn(
            product=gpu.product,
            uuid=gpu.uuid,
            vbios=gpu.vbios,
            driver=platform.device.driver,
            power_limit_w=gpu.power_limit_w,
            recorded_at=platform.recorded_at,
            in_this_run=provision is not None and provision.kind == "device",
        )

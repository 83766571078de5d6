"""The entries of the table of stages: records, who calls for them, what the step needs.

Pure. The table itself is in ``stages``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from assay.evidence.outcomes import FailedForm
from assay.records.base import Record
from assay.records.plan import Plan, TargetPlan
from assay.records.timings import Stage

K = TypeVar("K", bound=str | tuple[str, ...])
R = TypeVar("R", bound=Record)


class Purpose(StrEnum):
    """The purpose of a stage's records."""

    MACHINE = "machine"
    """They say what was measured on."""
    GATE = "gate"
    """No figure without them."""
    FIGURES = "figures"
    """Verdicts rest on them."""
    BESIDE = "beside"
    """Told beside the figures: no verdict rests on them, and their failure is a record too."""


@dataclass(frozen=True)
class RunStage(Generic[K, R]):
    """A stage whose records belong to the run: they need no GPU and name no target's figures."""

    stage: Stage
    record: type[R]
    path: Callable[..., str]
    """From the parts of a key."""
    keys: Callable[[Plan], Iterable[K]]
    """What a plan calls for; the empty key stands for the run itself."""

    def paths(self, plan: Plan) -> dict[K, str]:
        """Return where the records lie that a plan calls for."""
        return {key: self.path(*_parts(key)) for key in self.keys(plan)}


@dataclass(frozen=True)
class TargetStage(Generic[K, R]):
    """A stage whose records belong to a target. One step makes all of a target's."""

    stage: Stage
    record: type[R]
    path: Callable[..., str]
    """From the parts of a key: the target, then what the record is of."""
    collection: str
    """The field of ``Evidence`` that holds the records by their keys."""
    purpose: Purpose
    task: str | None = None
    """The device side's, which has a GPU; making the image of a runner is none of its."""
    field: str | None = None
    """The field of ``TargetPlan`` that calls for records; None where every target has one."""
    each: Callable[[Any], tuple[str, ...]] | None = None
    """Of a batch: the rest of a record's key, from an entry of the field. None: a lone record."""
    of_comparison: bool = False
    """Whether a record is of a comparison, whose id follows the target in its key."""
    failed: FailedForm[R] | None = None
    """The record of a measurement that came to nothing."""

    def keys(self, plan: TargetPlan) -> list[K]:
        """Return what the plan of one target calls for."""
        if self.purpose is Purpose.FIGURES and not plan.timed:
            return []
        wanted: Any = True if self.field is None else getattr(plan, self.field)
        keys: list[Any] = [plan.target] if wanted else []
        if self.each is not None:
            keys = [(plan.target, *self.each(entry)) for entry in wanted]
        return keys

    def paths(self, *plans: TargetPlan) -> dict[K, str]:
        """Return where the records lie that the plans of targets call for."""
        return {
            key: run_path(plan, self.path(*_parts(key)))
            for plan in plans
            for key in self.keys(plan)
        }

    def output(self, target: str) -> str:
        """Return what the stage's step writes: a lone record, or the folder of a batch."""
        return self.path(target) if self.each is None else f"{target}/{self.stage}"

    def outputs(self, plan: TargetPlan) -> list[str]:
        """Return all that the step writes for a plan that calls for it."""
        whole = self.each is not None
        return [self.output(plan.target)] if whole else list(self.paths(plan).values())


def run_path(plan: TargetPlan, path: str) -> str:
    """Return where a record lies of the run that measured a target, by its path there."""
    within = plan.provision.within
    return path if within is None else f"{within}/{path}"


def _parts(key: str | tuple[str, ...]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key

"""Tuning as data: which configuration of a kernel was chosen for what, and on which evidence."""

from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.records.base import Identifier, Record
from assay.records.kernels import Arch
from assay.records.workloads import Operation, Workload


class ShapeClass(Record):
    """Problems that one choice is for; bounds are inclusive, and None leaves a side open."""

    n_least: Annotated[int, Field(ge=1)] = 1
    n_most: Annotated[int, Field(ge=1)] | None = None
    """Columns of C."""
    ragged: bool | None = None
    """Whether block rows differ in length; None for either."""
    blocks_least: Annotated[float, Field(ge=0)] = 0.0
    blocks_most: Annotated[float, Field(ge=0)] | None = None
    """Mean stored blocks a block row."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "ShapeClass":
        for least, most in self.ranges():
            if most is not None and most < least:
                raise ValueError(f"a shape class from {least:g} to {most:g} holds nothing")
        return self

    def ranges(self) -> tuple[tuple[float, float | None], tuple[float, float | None]]:
        """Return (least, most) of n and of the blocks a row."""
        return (self.n_least, self.n_most), (self.blocks_least, self.blocks_most)

    def meets(self, other: "ShapeClass") -> bool:
        """Return whether some problem is in both classes."""
        if self.ragged is not None and other.ragged not in (None, self.ragged):
            return False
        pairs = zip(self.ranges(), other.ranges(), strict=True)
        return all(_overlap(first, second) for first, second in pairs)


def _overlap(first: tuple[float, float | None], second: tuple[float, float | None]) -> bool:
    (low, high), (least, most) = first, second
    return (most is None or low <= most) and (high is None or least <= high)


class SweepArm(Record):
    """The arm of a comparison in which a choice was measured beside its rivals."""

    comparison: Identifier
    arm: Identifier


class TuningChoice(Record):
    """One configuration and what it was chosen for."""

    id: Identifier
    target: Identifier
    operation: Operation
    dtype: Literal["float16", "bfloat16", "float8_e4m3"]
    block_rows: Annotated[int, Field(gt=0)]
    block_cols: Annotated[int, Field(gt=0)]
    """Shape of a stored block of A."""
    shapes: ShapeClass
    variant: Identifier
    evidence: SweepArm
    why: str
    """What the choice rests on, in a sentence or two."""

    def key(self) -> tuple[str, str, str, int, int]:
        """Return what two choices must share for their shape classes to compete."""
        return (
            self.target, self.operation.value, self.dtype, self.block_rows, self.block_cols
        )  # fmt: skip

    def objection(self, workload: Workload) -> str | None:
        """Return why a problem is not one that this choice is for, or None."""
        pattern = workload.pattern
        if (workload.operation, workload.dtype) != (self.operation, self.dtype):
            return f"is {workload.operation.value} in {workload.dtype}"
        if pattern is None or workload.n is None:
            return "has no stored blocks"
        if (pattern.block_rows, pattern.block_cols) != (self.block_rows, self.block_cols):
            return f"has blocks of {pattern.block_rows}x{pattern.block_cols}"
        here = ShapeClass(
            n_least=workload.n,
            n_most=workload.n,
            ragged=pattern.kind == "ragged",
            blocks_least=float(pattern.blocks_per_row),
            blocks_most=float(pattern.blocks_per_row),
        )
        return None if self.shapes.meets(here) else "lies outside its shape class"


class TuningSweep(Record):
    """What ``./assay tune`` measures on a target, and which class of problems it decides."""

    id: Identifier
    """With the target's before it, that of the choice."""
    shapes: ShapeClass
    archs: tuple[Arch, ...] = ()
    """Architectures that it is for; all that its first arm is built for, where none is named."""
    begin: SweepArm
    """What holds where no rival of the comparison is faster, and nobody has chosen yet."""

    def choice(self, target: str, variant: str, workload: Workload) -> TuningChoice:
        """Return the choice that a target begins with; ``variant`` and ``workload``: of its arm."""
        pattern = workload.pattern
        if pattern is None or workload.dtype == "float32":
            raise ValueError(f"sweep '{self.id}' runs on '{workload.id}', which no choice is for")
        return TuningChoice(
            id=f"{target}_{self.id}",
            target=target,
            operation=workload.operation,
            dtype=workload.dtype,
            block_rows=pattern.block_rows,
            block_cols=pattern.block_cols,
            shapes=self.shapes,
            variant=variant,
            evidence=self.begin,
            why="Where its sweep begins.",
        )


class TuningFile(Record):
    """``config/tuning.yaml``, and the table beside the builds."""

    schema_: Literal["assay/tuning/1"] = Field(alias="schema")
    sweeps: tuple[TuningSweep, ...] = ()
    """None in files from before, whose targets were those with choices."""
    choices: tuple[TuningChoice, ...] = ()

    @model_validator(mode="after")
    def _one_choice_a_problem(self) -> "TuningFile":
        for first, second in combinations(self.choices, 2):
            if first.id == second.id:
                raise ValueError(f"choice '{first.id}' is made twice")
            if first.key() == second.key() and first.shapes.meets(second.shapes):
                raise ValueError(f"choices '{first.id}' and '{second.id}' are for the same shapes")
        return self

    def of(self, target: str) -> tuple[TuningChoice, ...]:
        """Return the choices made for one target, in file order."""
        return tuple(choice for choice in self.choices if choice.target == target)

"""Rivals, how they are tuned, and which kernel is behind an operator."""

import shlex
from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import FileName, Identifier, PackageName, Record, Sha256
from assay.records.kernels import Arch, OperatorKernel
from assay.records.workloads import Operation, Workload


class PinnedWheel(Record):
    """One file of a package, for one kind of machine."""

    file: FileName
    bytes: Annotated[int, Field(gt=0)]
    sha256: Sha256


class PinnedPackage(Record):
    """A package at one version, with the digests of all wheels that will do."""

    name: PackageName
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+!_-]*$")]
    wheels: Annotated[tuple[PinnedWheel, ...], Field(min_length=1)]


class Rival(Record):
    """Packages that no lock of this repository installs."""

    id: Identifier
    title: str
    purpose: str
    """What it answers, one line."""
    module: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$")]
    """What the device side imports of it."""
    packages: Annotated[tuple[PinnedPackage, ...], Field(min_length=1)]
    """The first is the one that is looked for; without their dependencies, which PyTorch is."""
    python: str
    """Versions of Python that the wheels are for, as ``>=3.9``."""
    needs: str
    """What else has to be there, in words."""

    @property
    def main(self) -> PinnedPackage:
        """Return the package whose version tells whether the rival is here."""
        return self.packages[0]

    def install_line(self, python: str = "PYTHON") -> str:
        """Return the shell line that installs it for ``python``, each wheel by its hash."""
        pins = [
            " ".join([f"{p.name}=={p.version}", *(f"--hash=sha256:{w.sha256}" for w in p.wheels)])
            for p in self.packages
        ]
        printed = " ".join(shlex.quote(pin) for pin in pins)
        named = python if python == "PYTHON" else shlex.quote(python)
        return (
            f"printf '%s\\n' {printed} | {named} -m pip install --no-deps --require-hashes "
            "-r /dev/stdin"
        )

    def how_to_get(self) -> str:
        """Return a sentence on how a run finds it; PYTHON stands for the device's.

        In a new run: what one has measured without it stays as it is.
        """
        return (
            f"To have it: {self.install_line()}, then a new run: ./assay reproduce --run NAME "
            "--runtime host --device-python PYTHON."
        )


class RivalsFile(Record):
    """``config/rivals.yaml``."""

    schema_: Literal["assay/rivals/1"] = Field(alias="schema")
    rivals: tuple[Rival, ...] = ()


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

    def ranges(self) -> tuple[tuple[float, float | None], tuple[float, float | None]]:
        """Return (least, most) of n and of the blocks a row."""
        return (self.n_least, self.n_most), (self.blocks_least, self.blocks_most)

    def meets(self, other: "ShapeClass") -> bool:
        """Return whether some problem is in both classes."""
        if self.ragged is not None and other.ragged not in (None, self.ragged):
            return False
        return all(
            (most is None or low <= most) and (high is None or least <= high)
            for (low, high), (least, most) in zip(self.ranges(), other.ranges(), strict=True)
        )


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


class TuningSweep(Record):
    """What ``./assay lab tune`` measures on a target, and which class of problems it decides."""

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

    def of(self, target: str) -> tuple[TuningChoice, ...]:
        """Return the choices made for one target, in file order."""
        return tuple(choice for choice in self.choices if choice.target == target)


class KernelEntry(OperatorKernel):
    """A library and the one case it is for, as assay.ops.kernel_set reads it."""

    operation: Operation
    arch: str
    symbol: str
    path: str
    """Relative to the index."""
    sha256: Sha256


class KernelSetRecord(Record):
    """``kernels.json``: the index of a folder that assay.ops.load takes."""

    schema_: Literal["assay/kernel_set/1"] = Field(alias="schema")
    target: Identifier
    kernels: tuple[KernelEntry, ...]
    choices: tuple[TuningChoice, ...] = ()
    """The target's of config/tuning.yaml."""

"""PyTorch's operators: the kernels offered to them, and how they behave on a GPU."""

from typing import Literal, get_args

from pydantic import Field, model_validator

from assay.records.base import GpuRecord, Identifier, Measurable, Moment, Record, Sha256
from assay.records.kernels import OperatorKernel
from assay.records.tuning import TuningChoice
from assay.records.workloads import Operation

CheckName = Literal["oracle", "refusals", "gradient", "opcheck", "torch_compile", "cuda_graph"]
"""``oracle``: right on regular, ragged and empty rows; ``refusals``: wrong arguments end in a
sentence; ``gradient``: as the reference's; ``opcheck``: torch.library.opcheck; ``torch_compile``:
one graph, right output; ``cuda_graph``, of attention: captured once and right for other inputs."""


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


class OperatorCheck(Record):
    """One thing that was tried of an operator."""

    name: CheckName
    passed: bool
    detail: str
    """What was tried; of a failed check, what went wrong."""


class OperatorOutcome(Record):
    """One operator with one kernel behind it."""

    operator: Identifier
    """Name below torch.ops.assay."""
    variant: Identifier
    dtype: str
    binary_sha256: Sha256
    status: Literal["passed", "wrong", "failed"]
    """``failed``: its process ended without a result."""
    detail: str
    checks: tuple[OperatorCheck, ...]
    seconds: Measurable

    @model_validator(mode="after")
    def _status_is_what_the_checks_say(self) -> "OperatorOutcome":
        """A check that was left out reads as none that passed; FP8 products have no gradient, and
        products are not captured.
        """
        names = [check.name for check in self.checks]
        wanted = set(get_args(CheckName))
        if self.dtype == "float8_e4m3":
            wanted -= {"gradient"}
        if self.operator != Operation.BLOCK_SPARSE_ATTENTION.value:
            wanted -= {"cuda_graph"}
        whole = len(set(names)) == len(names) and wanted <= set(names)
        said = {"passed": True, "wrong": False}.get(self.status)
        if said is not None and said != all(c.passed for c in self.checks):
            raise ValueError(f"{self.variant} is {self.status}, but its checks say otherwise")
        if self.status == "passed" and not whole:
            raise ValueError(f"{self.variant} is passed, but not every check was made, and once")
        return self


class OperatorsRecord(GpuRecord):
    """Every operator on one GPU, through every kernel that is offered to it there."""

    schema_: Literal["assay/operators/1"] = Field(alias="schema")
    target: Identifier
    recorded_at: Moment
    torch: str | None
    """Version of PyTorch; None where the record is ``failed``."""
    operators: tuple[OperatorOutcome, ...]
    """Empty where no kernel for them compiled."""
    seconds: Measurable
    status: Literal["collected", "failed"] = "collected"
    """``failed``: none was tried to its end, and ``detail`` says why."""
    detail: str = ""

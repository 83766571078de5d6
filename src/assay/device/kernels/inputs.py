"""Inputs of a workload, which ``drawn_inputs`` makes, and what their results look like."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from assay.device.kernels.project_code import ProjectCase
from assay.shared import flops
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks

Tensor = Any
"""torch.Tensor; mypy sees no torch."""

DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float8_e4m3": torch.float8_e4m3fn,
    "float32": torch.float32,
}
OUTPUT_DTYPES = {**DTYPES, "float8_e4m3": torch.bfloat16}
"""Sums of FP8 products do not fit FP8: their result is bfloat16, as torch._scaled_mm gives it."""
MOST_SCORES = 2**34
"""Scores of dense attention that an oracle computes; of more, it computes rows drawn at random. All
scores of 512K tokens took ten minutes an arm on an H100."""
ROWS = "v_rows"
"""V of attention in FP8 with its rows whole, for libraries that take no other."""
QKV = ("q", "k", "v")
"""By which attention has gradients, in this order."""


@dataclass(frozen=True)
class Inputs:
    """Everything a launch reads. ``tensors`` are named as in the kernels' ABI.

    ``tensors["b"]`` is always the logical [k, n] matrix; in FP8, and where a workload says so, it
    is a view of [n, k] memory.
    """

    workload: WorkloadSpec
    device: str
    tensors: dict[str, Tensor]
    scales: dict[str, float]
    """Value tensors and the factor on their standard normals."""
    blocks: Blocks | None
    """Stored blocks of A, or selected score blocks."""
    blocks_b: Blocks | None
    case: ProjectCase | None = None
    """Of a project's operation: what draws its values, and knows the right answer."""

    @property
    def project_case(self) -> ProjectCase:
        """Return what a project's function made. Raises ValueError for an operation of our own."""
        if self.case is None:
            raise ValueError(f"{self.workload.operation} is no project's")
        return self.case

    @property
    def dtype(self) -> Any:
        """Return the element type of the value tensors."""
        return DTYPES[self.workload.dtype]

    @property
    def output_dtype(self) -> Any:
        """Return the element type of the result."""
        if self.workload.operation == "tma_load" or self.workload.output_dtype == "float32":
            return torch.float32
        return OUTPUT_DTYPES[self.workload.dtype]

    def output_shape(self) -> tuple[int, ...]:
        """Return the shape of the operation's result."""
        w = self.workload
        if self.case is not None:
            return self.case.shape or tuple(self.case.right(self.tensors).shape)
        if w.differentiates:
            return sum(self._gradient_rows), w.head_dim
        if w.attends:
            return w.batch, w.heads, w.seq_q, w.head_dim
        if w.operation == "tma_load":
            return math.ceil(w.k / flops.LOAD_TILE_COLS), w.m
        return (w.groups, w.m, w.n) if w.operation == "grouped_gemm" else (w.m, w.n)

    def new_output(self) -> Tensor:
        """Return an uninitialised output buffer, in the workload's layout; for what a project's arm
        returns one that holds any float without loss.
        """
        if self.case is not None:
            return torch.empty(self.output_shape(), dtype=torch.float32, device=self.device)
        return laid_out(self.output_shape(), self.output_dtype, self.workload, self.device)

    def new_gradients(self) -> tuple[Tensor, ...]:
        """Return uninitialised gradients by Q, K and V, in the workload's layout."""
        return tuple(
            laid_out(tuple(self.tensors[name].shape), self.output_dtype, self.workload, self.device)
            for name in QKV
        )

    @property
    def _gradient_rows(self) -> tuple[int, ...]:
        return tuple(math.prod(self.tensors[name].shape[:3]) for name in QKV)

    def joined(self, gradients: Sequence[Tensor]) -> Tensor:
        """Return the gradients by Q, K and V as one result: the rows of all heads together."""
        return torch.cat([each.reshape(-1, self.workload.head_dim) for each in gradients])

    def gradients(self, result: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients by Q, K and V, [rows, head_dim] each, of one result."""
        return tuple(result.split(self._gradient_rows))

    @cached_property
    def checked_rows(self) -> Tensor | None:
        """Return the queries whose results the oracle computes, int64, rising; None: all."""
        w = self.workload
        if w.operation != "dense_attention":
            return None
        each = w.batch * w.heads * w.seq_kv
        if each * w.seq_q <= MOST_SCORES:
            return None
        generator = torch.Generator().manual_seed(w.seed)
        chosen = torch.randperm(w.seq_q, generator=generator)[: max(1, MOST_SCORES // each)]
        return chosen.sort().values.to(self.device)

    def checked(self, result: Tensor) -> Tensor:
        """Return what of a result [batch, heads, seq_q, ...] the oracle computes."""
        return result if self.checked_rows is None else result[:, :, self.checked_rows]

    def snapshot(self) -> dict[str, Tensor]:
        """Return copies of all tensors, to tell later whether a launch changed them."""
        return {name: tensor.clone() for name, tensor in self.tensors.items()}

    def changed_since(self, snapshot: dict[str, Tensor]) -> list[str]:
        """Return the names of the tensors that differ from ``snapshot`` in any bit."""
        return [
            name
            for name, tensor in self.tensors.items()
            if not torch.equal(bits(tensor), bits(snapshot[name]))
        ]


def bits(tensor: Tensor) -> Tensor:
    """Return a tensor's memory as integers, so that NaNs and signed zeros compare too."""
    sizes = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    whole = sizes.get(tensor.element_size()) if not tensor.is_complex() else None
    return tensor if whole is None or tensor.dtype is torch.bool else tensor.view(whole)


def laid_out(shape: tuple[int, ...], dtype: Any, workload: WorkloadSpec, device: str) -> Tensor:
    """An uninitialised tensor; one of attention is a view where heads lie behind the sequence."""
    if workload.layout == "bshd" and len(shape) == 4:
        batch, heads, sequence, width = shape
        memory = torch.empty(batch, sequence, heads, width, dtype=dtype, device=device)
        return memory.transpose(1, 2)
    return torch.empty(shape, dtype=dtype, device=device)

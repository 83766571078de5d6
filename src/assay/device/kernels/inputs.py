"""Inputs of a workload: patterns by ``shared.stored_blocks``, values by a seeded generator."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from assay.device.kernels.project_code import ProjectCase, open_case
from assay.shared import flops
from assay.shared.attention_lists import block_lists
from assay.shared.specs import Json, WorkloadSpec
from assay.shared.stored_blocks import Blocks, workload_blocks

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
FP8_SCALE = 32.0
"""Factor on the standard normals of both FP8 operands. E4M3 ends at 448, fourteen standard
deviations away, which no float32 generator reaches; below 2^-6 it loses precision, where 0.04 % of
the values then lie. (Scaled by 1/sqrt(k) like the 16-bit types, most of B would lie there.)"""
LOOKED_AT = 2**24
"""Elements of unwritten memory that are counted at a time."""
MOST_SCORES = 2**34
"""Scores of dense attention that an oracle computes; of more, it computes rows drawn at random. All
scores of 512K tokens took ten minutes an arm on an H100."""
K_MAJOR = ("float8_e4m3",)
"""Types whose dense B lies in memory as [n, k]: tensor cores read 8-bit operands no other way."""


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
        if self.workload.operation == "tma_load":
            return torch.float32
        if self.workload.output_dtype == "float32":
            return torch.float32
        return OUTPUT_DTYPES[self.workload.dtype]

    def output_shape(self) -> tuple[int, ...]:
        """Return the shape of the operation's result."""
        w = self.workload
        if self.case is not None:
            return self.case.shape or tuple(self.case.right(self.tensors).shape)
        if w.operation.endswith("attention"):
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
        return _laid_out(self.output_shape(), self.output_dtype, self.workload, self.device)

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


def _value_shapes(
    workload: WorkloadSpec, blocks: Blocks | None, blocks_b: Blocks | None
) -> dict[str, tuple[tuple[int, ...], float]]:
    """Name, shape and scale of each value tensor, in the order in which they are drawn."""
    w = workload
    if w.operation.endswith("attention"):
        queries = (w.batch, w.heads, w.seq_q, w.head_dim), w.logit_scale
        keys = (w.batch, w.key_heads, w.seq_kv, w.head_dim), 1.0
        return {"q": queries, "k": keys, "v": keys}
    if w.operation == "tma_load":
        return {"a": ((w.m, w.k), 1.0)}
    fp8 = w.dtype == "float8_e4m3"
    scale_a, scale_b = (FP8_SCALE, FP8_SCALE) if fp8 else (1.0, 1.0 / math.sqrt(w.k))
    batch = (w.groups,) if w.operation == "grouped_gemm" else ()
    shapes: dict[str, tuple[tuple[int, ...], float]] = {}
    if blocks is not None:
        shapes["a_values"] = (blocks.stored, blocks.block_rows, blocks.block_cols), scale_a
    else:
        shapes["a"] = (*batch, w.m, w.k), scale_a
    if blocks_b is not None:
        shapes["b_values"] = (blocks_b.stored, blocks_b.block_rows, blocks_b.block_cols), scale_b
    else:
        shapes["b"] = (*batch, w.k, w.n), scale_b
    return shapes


def _allocate(name: str, shape: tuple[int, ...], workload: WorkloadSpec, device: str) -> Tensor:
    """An uninitialised tensor of a logical ``shape``; a B of K_MAJOR types, or of a workload that
    says so, has its columns whole.
    """
    dtype = DTYPES[workload.dtype]
    if name == "b" and (workload.dtype in K_MAJOR or workload.b_layout == "nk"):
        shape = (*shape[:-2], shape[-1], shape[-2])
        return torch.empty(shape, dtype=dtype, device=device).transpose(-1, -2)
    return _laid_out(shape, dtype, workload, device)


def _laid_out(shape: tuple[int, ...], dtype: Any, workload: WorkloadSpec, device: str) -> Tensor:
    """An uninitialised tensor; one of attention is a view where heads lie behind the sequence."""
    if workload.layout == "bshd":
        batch, heads, sequence, width = shape
        memory = torch.empty(batch, sequence, heads, width, dtype=dtype, device=device)
        return memory.transpose(1, 2)
    return torch.empty(shape, dtype=dtype, device=device)


def make_inputs(
    workload: WorkloadSpec,
    device: str,
    seed: int,
    blocks: tuple[Blocks | None, Blocks | None] | None = None,
) -> Inputs:
    """Allocate and fill the inputs of a workload; ``blocks`` overrides the generated pattern."""
    if workload.operation == "callable":
        case = open_case(workload, device)
        return Inputs(workload, device, case.inputs(seed), {}, None, None, case)
    first, second = workload_blocks(workload, seed) if blocks is None else blocks
    tensors: dict[str, Tensor] = {}
    scales: dict[str, float] = {}
    for name, (shape, scale) in _value_shapes(workload, first, second).items():
        tensors[name] = _allocate(name, shape, workload, device)
        scales[name] = scale
    if workload.operation == "block_sparse_attention" and first is not None:
        tensors |= _list_tensors(first, workload, device)
    elif not workload.operation.endswith("attention"):
        for prefix, layout in (("a", first), ("b", second)):
            if layout is not None:
                tensors[f"{prefix}_row_ptr"] = torch.from_numpy(layout.row_ptr).to(device)
                tensors[f"{prefix}_col_idx"] = torch.from_numpy(layout.col_idx).to(device)
    inputs = Inputs(workload, device, tensors, scales, first, second)
    fill(inputs, seed)
    return inputs


def _list_tensors(blocks: Blocks, workload: WorkloadSpec, device: str) -> dict[str, Tensor]:
    """Lists of key blocks, [1, 1, rows] and [1, 1, rows, pitch]; none where no block is such."""
    full, partial = block_lists(blocks, workload)
    tensors = {}
    for name, blocks_of in (("full", full), ("partial", partial)):
        if blocks_of.pitch:
            tensors[f"{name}_counts"] = torch.from_numpy(blocks_of.counts)[None, None].to(device)
            tensors[f"{name}_columns"] = torch.from_numpy(blocks_of.columns)[None, None].to(device)
    return tensors


def written(workload: WorkloadSpec) -> WorkloadSpec:
    """Return the problem that is checked: with normal values where none are ever written."""
    return workload if workload.written else replace(workload, distribution="normal")


def memory_found(inputs: Inputs) -> Json:
    """Return the UnwrittenMemory record: what the value tensors hold, some elements at a time."""
    found = {"elements": 0, "zeros": 0, "nans": 0, "infinities": 0}
    for name in inputs.scales:
        for part in inputs.tensors[name].flatten().split(LOOKED_AT):
            found["elements"] += part.numel()
            found["zeros"] += int((part == 0).sum())
            found["nans"] += int(part.isnan().sum())
            found["infinities"] += int(part.isinf().sum())
    return found


def fill(inputs: Inputs, seed: int) -> None:
    """Draw new values into the same buffers; the pattern stays. Does nothing to a workload whose
    values are never written.
    """
    if not inputs.workload.written:
        return
    if inputs.case is not None:
        inputs.case.refill(inputs.tensors, seed)
        return
    generator = torch.Generator(device=inputs.device)
    generator.manual_seed(seed)
    for name, scale in inputs.scales.items():
        tensor = inputs.tensors[name]
        if inputs.workload.distribution == "zeros":
            tensor.zero_()
            continue
        # Drawn in float32 and rounded once, so that the scale does not round a second time.
        values = torch.randn(tensor.shape, generator=generator, device=inputs.device)
        tensor.copy_(values.mul_(scale))
    if inputs.workload.poison_unselected and inputs.blocks is not None:
        selected = torch.zeros(inputs.blocks.grid_cols, dtype=torch.bool)
        selected[torch.from_numpy(inputs.blocks.col_idx).long()] = True
        keys = selected.repeat_interleave(inputs.blocks.block_cols)[: inputs.workload.seq_kv]
        for name in ("k", "v"):
            inputs.tensors[name][:, :, ~keys.to(inputs.device)] = float("nan")

"""Inputs drawn: patterns by ``shared.stored_blocks``, values by a seeded generator."""

import math
from dataclasses import replace

import torch

from assay.device.kernels.attention_oracle import attend
from assay.device.kernels.inputs import DTYPES, ROWS, Inputs, Tensor, laid_out
from assay.device.kernels.project_code import open_case
from assay.ops import fp8_blocks
from assay.shared.attention_call import COLUMNS, SCALES
from assay.shared.attention_lists import block_lists
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks, workload_blocks

FP8_SCALE = 32.0
"""Factor on the standard normals of both FP8 operands. E4M3 ends at 448, fourteen standard
deviations away, which no float32 generator reaches; below 2^-6 it loses precision, where 0.04 % of
the values then lie. (Scaled by 1/sqrt(k) like the 16-bit types, most of B would lie there.)"""
LOUDER = 3.0
"""Factor on a first block of attention in FP8: scales that differ tell who mixes them up."""
K_MAJOR = ("float8_e4m3",)
"""Types whose dense B lies in memory as [n, k]: tensor cores read 8-bit operands no other way."""


def _value_shapes(
    workload: WorkloadSpec, blocks: Blocks | None, blocks_b: Blocks | None
) -> dict[str, tuple[tuple[int, ...], float]]:
    """Name, shape and scale of each value tensor, in the order in which they are drawn."""
    w = workload
    if w.attends:
        queries: tuple[int, ...] = w.batch, w.heads, w.seq_q, w.head_dim
        keys = (w.batch, w.key_heads, w.seq_kv, w.head_dim), 1.0
        more = {"grad": (queries, 1.0)} if w.differentiates else {}
        return {"q": (queries, w.logit_scale), "k": keys, "v": keys, **more}
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
    says so, has its columns whole, and so has V of block-sparse attention in FP8.
    """
    dtype = DTYPES[workload.dtype]
    columns = workload.attends_in_fp8 and name == "v"  # else FlexAttention would copy it so
    if columns or (name == "b" and (workload.dtype in K_MAJOR or workload.b_layout == "nk")):
        shape = (*shape[:-2], shape[-1], shape[-2])
        return torch.empty(shape, dtype=dtype, device=device).transpose(-1, -2)
    return laid_out(shape, dtype, workload, device)


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
    if workload.differentiates:
        tensors["o"] = torch.empty_like(tensors["q"])
        tensors["lse"] = torch.empty(tensors["q"].shape[:3], dtype=torch.float32, device=device)
    if workload.attends_in_fp8:
        tensors |= _fp8_tensors(tensors)
    if workload.attends and first is not None:
        tensors |= _list_tensors(first, workload, device)
    elif not workload.attends:
        for prefix, layout in (("a", first), ("b", second)):
            if layout is not None:
                tensors[f"{prefix}_row_ptr"] = torch.from_numpy(layout.row_ptr).to(device)
                tensors[f"{prefix}_col_idx"] = torch.from_numpy(layout.col_idx).to(device)
    inputs = Inputs(workload, device, tensors, scales, first, second)
    fill(inputs, seed)
    return inputs


def _fp8_tensors(values: dict[str, Tensor]) -> dict[str, Tensor]:
    """What FP8 has beside Q, K and V: scales of 1, and V in the orders of those who read it."""
    blocks = (
        (*values[name].shape[:2], -(-values[name].shape[2] // fp8_blocks.BLOCK)) for name in "qkv"
    )
    scales = [torch.ones(shape, device=values["q"].device) for shape in blocks]
    found = dict(zip(SCALES, (*scales, scales[2].amax(2)), strict=True))
    by_rows = torch.empty_like(values["v"], memory_format=torch.contiguous_format)
    return {**found, COLUMNS: fp8_blocks.by_columns(values["v"]), ROWS: by_rows}


def _unselected(inputs: Inputs) -> Tensor | None:
    """Return which keys no block selects, where these are to hold NaN."""
    if not inputs.workload.poison_unselected or inputs.blocks is None:
        return None
    selected = torch.zeros(inputs.blocks.grid_cols, dtype=torch.bool)
    selected[torch.from_numpy(inputs.blocks.col_idx).long()] = True
    keys = selected.repeat_interleave(inputs.blocks.block_cols)[: inputs.workload.seq_kv]
    return (~keys).to(inputs.device)


def _quantise(inputs: Inputs, name: str, values: Tensor) -> Tensor:
    """Return values in units of their blocks' scales; the first block's are larger than others."""
    values[:, :, : fp8_blocks.BLOCK] *= LOUDER
    stored, scale = fp8_blocks.quantise(values)
    inputs.tensors[f"{name}_scale"].copy_(scale)
    return stored


def _list_tensors(blocks: Blocks, workload: WorkloadSpec, device: str) -> dict[str, Tensor]:
    """Lists of key blocks, [1, 1, rows] and [1, 1, rows, pitch]; none where no block is such."""
    tensors = {}
    for name, listed in zip(("full", "partial"), block_lists(blocks, workload), strict=True):
        if listed.pitch:
            tensors[f"{name}_counts"] = torch.from_numpy(listed.counts)[None, None].to(device)
            tensors[f"{name}_columns"] = torch.from_numpy(listed.columns)[None, None].to(device)
    return tensors


def written(workload: WorkloadSpec) -> WorkloadSpec:
    """Return the problem that is checked: with normal values where none are ever written."""
    return workload if workload.written else replace(workload, distribution="normal")


def fill(inputs: Inputs, seed: int) -> None:
    """Draw new values into the same buffers, if any are ever written; the pattern stays."""
    if not inputs.workload.written:
        return
    if inputs.case is not None:
        inputs.case.refill(inputs.tensors, seed)
        return
    generator = torch.Generator(device=inputs.device)
    generator.manual_seed(seed)
    unselected = _unselected(inputs)
    for name, scale in inputs.scales.items():
        tensor = inputs.tensors[name]
        if inputs.workload.distribution == "zeros":
            tensor.zero_()
            continue
        # Drawn in float32 and rounded once, so that the scale does not round a second time.
        values = torch.randn(tensor.shape, generator=generator, device=inputs.device)
        values.mul_(scale)
        if unselected is not None and name in ("k", "v"):
            values[:, :, unselected] = torch.nan
        tensor.copy_(_quantise(inputs, name, values) if inputs.workload.scaled_blocks else values)
    if inputs.workload.attends_in_fp8:
        inputs.tensors[COLUMNS].copy_(fp8_blocks.by_columns(inputs.tensors["v"]))
        inputs.tensors[ROWS].copy_(inputs.tensors["v"])
        inputs.tensors["v_top"].copy_(inputs.tensors["v_scale"].amax(2))
    if inputs.workload.differentiates:
        # The forward pass as the oracle has it, its output rounded as a kernel's would be.
        forward = attend(inputs)
        inputs.tensors["o"].copy_(forward.output)
        inputs.tensors["lse"].copy_(forward.log_sum_exp)

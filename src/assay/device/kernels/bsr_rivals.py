"""Rivals in block-sparse products: PyTorch's BSR kernel as called and tuned, torchao, blksprs."""

import importlib
import itertools
import time
from collections.abc import Callable
from typing import Any

import torch

from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared, import_rival
from assay.device.kernels.sweep import (
    SCREENING_MS,
    Configuration,
    Swept,
    Tried,
    Walk,
    compiled,
    sweep_grid,
    swept_once,
)
from assay.shared.errors import Unsupported
from assay.shared.sparsity import columns_rise
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks

TILE_WIDTHS = (128, 256)
"""Columns of C a program computes: N / SPLIT_N. Wider sums do not fit the registers."""
GROUPS, STAGES, WARPS = (4, 8), (2, 3, 4), (4, 8)
LEAST_BLOCK = 16
"""Of a block's side, which has to be a power of two as well."""
TUNER_LIMIT_S = 90.0
"""torchao's walk over some hundred settings of a problem: on one H200 it took two minutes."""
REGISTERS_OF_THREAD, REGISTERS_OF_SM = 255, 65536
"""On every GPU from sm_80 to sm_90."""
TORCH_OPS = "torch.sparse._triton_ops"
Step = Callable[[str, int, int, Configuration], int]
"""(setting, its value, how many steps, the whole configuration) to the setting's next value."""


def bsr_tensor(inputs: Inputs) -> Tensor:
    """Return A as PyTorch's own BSR tensor, over the same memory."""
    t, w = inputs.tensors, inputs.workload
    matrix = torch.sparse_bsr_tensor(
        t["a_row_ptr"], t["a_col_idx"], t["a_values"], size=(w.m, w.k), check_invariants=False
    )
    if matrix.values().data_ptr() != t["a_values"].data_ptr():
        raise RuntimeError("torch.sparse_bsr_tensor copied its values: they can't be refreshed")
    return matrix


def _torch_bsr(inputs: Inputs) -> Prepared:
    """PyTorch's Triton kernel for BSR @ dense as it is called, into a fixed buffer."""
    matrix, b = bsr_tensor(inputs), inputs.tensors["b"]
    bsr_dense_mm = getattr(importlib.import_module(TORCH_OPS), "bsr_dense_mm", None)
    if bsr_dense_mm is None:
        # Without Triton the operator still works, in memory of its own.
        return Prepared(lambda: matrix @ b, None)
    out = inputs.new_output()

    def launch() -> Tensor:
        try:
            return bsr_dense_mm(matrix, b, out=out)
        except ValueError as error:  # its checks of block size and shape
            raise Unsupported(f"bsr_dense_mm: {error}") from error

    return Prepared(launch, out)


def configurations(w: WorkloadSpec) -> list[Configuration]:
    """Return what is tried of PyTorch's BSR kernel: ``meta`` of its ``bsr_dense_addmm``."""
    return [
        {"SPLIT_N": w.n // width, "GROUP_SIZE_ROW": group, "num_stages": stages, "num_warps": warps}
        for width in TILE_WIDTHS
        if w.n % width == 0
        for group in GROUPS
        for stages in STAGES
        for warps in WARPS
    ]


def _require_blocks_of_triton(blocks: Blocks | None, who: str) -> Blocks:
    """Raise Unsupported for blocks that Triton does not load."""
    if blocks is None:
        raise Unsupported(f"{who} is here for stored blocks only")
    for side in (blocks.block_rows, blocks.block_cols):
        if side < LEAST_BLOCK or side & (side - 1):
            raise Unsupported(
                f"{who} takes blocks whose sides are powers of two from {LEAST_BLOCK}"
            )
    return blocks


def require_room_for_sums(meta: Configuration, block_rows: int, n: int) -> None:
    """Raise Unsupported for a ``meta`` whose sums alone, one a register, exceed the registers.

    On one H200 each of those was at least 3 times slower than the best, with two warps 50 times.
    """
    sums = block_rows * (n // meta["SPLIT_N"])
    if sums > min(meta["num_warps"] * 32 * REGISTERS_OF_THREAD, REGISTERS_OF_SM - 1):
        raise Unsupported(f"its {sums} sums exceed the registers of {meta['num_warps']} warps")


def _addmm(library: Any, inputs: Inputs, out: Tensor) -> Callable[[Configuration | None], Tensor]:
    """Return a launch of ``bsr_dense_addmm`` with a ``meta``, None for the library's own choice;
    with a factor of 0 what it would add to is not read.
    """
    matrix, b = bsr_tensor(inputs), inputs.tensors["b"]
    block_rows = matrix.values().shape[-2]

    def launch(meta: Configuration | None) -> Tensor:
        if meta is not None:
            require_room_for_sums(meta, block_rows, inputs.workload.n)
        return library.bsr_dense_addmm(out, matrix, b, beta=0, alpha=1, out=out, meta=meta)

    return launch


def _torch_bsr_tuned(inputs: Inputs) -> Prepared:
    """PyTorch's kernel with the ``meta`` that a sweep on these inputs found fastest."""
    _require_blocks_of_triton(inputs.blocks, "bsr_dense_addmm")
    tried = configurations(inputs.workload)
    if not tried:
        raise Unsupported(f"n = {inputs.workload.n} is no multiple of {min(TILE_WIDTHS)}")
    library: Any = importlib.import_module(TORCH_OPS)
    if library.bsr_dense_mm is None:
        raise Unsupported("bsr_dense_addmm needs Triton, which is not here")
    out = inputs.new_output()
    launch = _addmm(library, inputs, out)
    swept = swept_once("torch_bsr_tuned", inputs, lambda: sweep_grid(tried, launch))
    return _prepared(launch, out, swept)


def _torchao_bsr(inputs: Inputs) -> Prepared:
    """torchao's kernel with the ``meta`` of its own tuner, which BSR_AUTOTUNE=1 has it run."""
    library = import_rival("torchao.kernel.bsr_triton_ops")
    _require_blocks_of_triton(inputs.blocks, "torchao's bsr_dense_addmm")
    out = inputs.new_output()
    launch = _addmm(library, inputs, out)

    def tune() -> Swept:
        return _walked(library, launch, bsr_tensor(inputs), inputs.tensors["b"], out)

    return _prepared(launch, out, swept_once("torchao_bsr", inputs, tune))


def _prepared(
    launch: Callable[[Configuration | None], Tensor], out: Tensor, swept: Swept | None
) -> Prepared:
    chosen = None if swept is None else swept.chosen
    return Prepared(lambda: launch(chosen), out, swept=swept)


def neighbours(start: Configuration, step: Step, most: int) -> list[Configuration]:
    """Return the configurations that at most ``most`` steps of one or two settings lead to."""
    found = []
    for steps in itertools.product(range(-most, most + 1), repeat=len(start)):
        if 0 < sum(map(abs, steps)) <= most:
            pairs = zip(start.items(), steps, strict=True)
            found.append({k: step(k, v, by, start) if by else v for (k, v), by in pairs})
    return [one for number, one in enumerate(found) if one != start and one not in found[:number]]


def _walked(
    library: Any,
    launch: Callable[[Configuration], Tensor],
    matrix: Tensor,
    b: Tensor,
    out: Tensor,
) -> Swept:
    """torchao's tuner over its own space and by its own steps; our walk notes each configuration,
    and times it in less than the 0.6 s that the tuner would take.

    Where its steps lead on and on, nothing that it asks for after ``TUNER_LIMIT_S`` runs, and the
    record says so.
    """
    began = time.monotonic()
    walk = Walk(launch)
    minimize = library.minimize
    search = "tune_bsr_dense_addmm"

    def noted(
        _bench: object, first: Configuration, known: Configuration, step: Step, **options: Any
    ) -> object:
        seen: list[Configuration] = []

        def timed(meta: Configuration) -> float:
            nonlocal search
            if time.monotonic() - began > TUNER_LIMIT_S:
                search = f"tune_bsr_dense_addmm, stopped after {TUNER_LIMIT_S:.0f} s"
                raise RuntimeError(search)
            if meta not in seen:
                # It walks on from the fastest, and would wait for its next ones one by one.
                center = next(iter(walk.fastest()), meta)
                around = neighbours(center, step, options["max_step"])
                new = [meta, *(one for one in around if one not in seen and one != meta)]
                compiled(new, launch)
                seen.extend(new)
            return walk.time(meta, SCREENING_MS)

        return minimize(timed, first, known, step, **options)

    library.minimize = noted
    try:
        chosen: Configuration = library.tune_bsr_dense_addmm(
            out, matrix, b, beta=0, alpha=1, out=out, store=False, force=True
        )
    finally:
        library.minimize = minimize
    return walk.finish(search, began, chosen or None)


def _blksprs(inputs: Inputs) -> Prepared:
    """blksprs' product of two block-sparse matrices, every block of C computed.

    C leaves it block by block, as it keeps matrices; its rows are put together outside the timing.
    Its checks of the arguments, which wait for the GPU, are turned off as it offers, and what it
    derives from the patterns is cached.
    """
    library = import_rival("blksprs")
    a = _require_blocks_of_triton(inputs.blocks, "blksprs")
    b = _require_blocks_of_triton(inputs.blocks_b, "blksprs")
    side = a.block_rows
    if {a.block_rows, a.block_cols, b.block_rows, b.block_cols} != {side}:
        raise Unsupported("blksprs takes square blocks of one size")
    if not all(columns_rise(one.row_ptr, one.col_idx) for one in (a, b)):
        raise Unsupported("blksprs keeps blocks in the order of their columns")
    library.utils.disable_validation()
    layouts = []  # which blocks are stored, bool [1, block rows, block columns]
    for one in (a, b):
        layout = torch.zeros(1, one.grid_rows, one.grid_cols, dtype=torch.bool)
        for row, begin, end in one.rows():
            layout[0, row, torch.from_numpy(one.col_idx[begin:end]).long()] = True
        layouts.append(layout.to(inputs.device))
    whole = torch.ones(1, a.grid_rows, b.grid_cols, dtype=torch.bool, device=inputs.device)
    values = inputs.tensors["a_values"], inputs.tensors["b_values"]
    cache: dict[str, Any] = {}

    def launch() -> Tensor:
        return library.ops.matmul(values[0], layouts[0], values[1], layouts[1], whole, side, cache)

    def arranged(product: Tensor) -> Tensor:
        tiles = product.as_subclass(torch.Tensor).view(a.grid_rows, b.grid_cols, side, side)
        return tiles.transpose(1, 2).reshape(a.grid_rows * side, b.grid_cols * side)

    began = time.monotonic()
    launch()  # its autotuner runs at the first launch
    return Prepared(launch, None, arranged=arranged, swept=_autotuned(time.monotonic() - began))


def _autotuned(seconds: float) -> Swept | None:
    """Return what Triton's autotuner noted for blksprs' kernel; None where it tried nothing."""
    kernel: Any = importlib.import_module("blksprs.ops.matmul").matmul_kernel
    timings: dict[Any, Any] = getattr(kernel, "configs_timings", None) or {}
    tried = []
    for configuration, taken in timings.items():
        ms = float(taken[0] if isinstance(taken, list | tuple) else taken)
        runs = ms != float("inf")
        settings = _settings(configuration)
        tried.append(Tried(settings, ms, None) if runs else Tried(settings, None, "does not fit"))
    if not tried:
        return None
    return Swept("triton.autotune", _settings(kernel.best_config), tuple(tried), round(seconds, 3))


def _settings(configuration: Any) -> Configuration:
    """Return one configuration of Triton's autotuner, by name."""
    own = {name: getattr(configuration, name) for name in ("num_stages", "num_warps")}
    return {**configuration.kwargs, **own}


PREPARE: dict[str, Callable[[Inputs], Prepared]] = {
    "torch_bsr": _torch_bsr,
    "torch_bsr_tuned": _torch_bsr_tuned,
    "torchao_bsr": _torchao_bsr,
    "blksprs": _blksprs,
}
"""Variant.entry to the function that prepares it."""

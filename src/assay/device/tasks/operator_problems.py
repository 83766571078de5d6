"""Small problems of the PyTorch operators: calls of every kind, each with its right answer."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from assay.device.kernels.inputs import DTYPES, Inputs, make_inputs
from assay.device.kernels.oracles import densify, widened
from assay.ops import AttentionMask
from assay.ops.checks import NoKernel, NotContiguous, Tensor, WrongIndexType
from assay.shared.kernel_choice import Kernel
from assay.shared.specs import PatternSpec, WorkloadSpec
from assay.shared.stored_blocks import Blocks, ragged_blocks

ATTENTION = "block_sparse_attention"
GRID = (6, 5)
"""Block rows and columns of A: a row of every length from none to full, where rows are ragged."""
N = 256
"""Columns of a dense B."""
BATCHES, HEADS, KV_HEADS = 2, 4, 2
ROWS, COLUMNS = 4, 5
"""Blocks of queries and of keys."""
SEED = 1
TOLERANCES = {"float16": 1e-3, "bfloat16": 5e-3, "float8_e4m3": 1e-2}
"""Relative: an output is rounded once, to 11 or 8 bits; FP8 tensor cores sum with fewer bits."""
Wrong = tuple[type[Exception], "OperatorCall"]
"""A call that must be refused, and the refusal."""


@dataclass(frozen=True)
class OperatorCall:
    """The arguments of an operator, and what it must return."""

    name: str
    values: tuple[Any, ...]
    """By position."""
    named: dict[str, Any]
    reference: Callable[..., tuple[Tensor, ...]]
    """Takes ``values`` in any wider type; autograd can follow it."""
    unread: Tensor | None = None
    """Keys that nobody may read, of all but the first value."""

    @property
    def right(self) -> tuple[Tensor, ...]:
        """Return the results from values in float64."""
        return self.reference(*(widened(v) if is_value(v) else v for v in self.values))

    def differentiable(self, wide: bool = False) -> list[Any]:
        """Return copies of the arguments, of which the values ask for gradients."""
        return [
            (widened(v) if wide else v).detach().clone().requires_grad_() if is_value(v) else v
            for v in self.values
        ]


def is_value(argument: Any) -> bool:
    """Return whether an argument is a tensor of values: no index and no number."""
    return isinstance(argument, torch.Tensor) and argument.dtype.is_floating_point


@dataclass(frozen=True)
class OperatorCase:
    """An operator, the kernel behind it, and where it runs."""

    kernel: Kernel
    device: str
    backend: str
    """Of torch.compile."""

    @property
    def operator(self) -> Any:
        """As a user calls it."""
        return getattr(torch.ops.assay, self.kernel.operation)

    @property
    def attends(self) -> bool:
        """Return whether it is attention: of several results, and captured into graphs."""
        return self.kernel.operation == ATTENTION

    @property
    def has_gradient(self) -> bool:
        """Return whether there is a gradient: all but FP8 products have one."""
        return self.kernel.dtype != "float8_e4m3"

    @property
    def tolerance(self) -> float:
        """Return the largest relative error of a result."""
        return TOLERANCES[self.kernel.dtype]

    def calls(self) -> Iterator[OperatorCall]:
        """Yield calls of every kind of pattern or mask."""
        if self.attends:
            return (attention(self, name, mask) for name, mask in masks(self))
        return products(self)

    def typical(self) -> OperatorCall:
        """Return a call of a kind that asks for everything."""
        if self.attends:
            return attention(self, "documents", documents(self, 1))
        return next(call for call in products(self) if call.name.startswith("ragged"))

    def wrong(self) -> Iterator[Wrong]:
        """Yield an index of the wrong type, a matrix that is not contiguous, and, on a GPU, what no
        kernel is for.
        """
        good = self.typical()

        def other(values: tuple[Any, ...], **named: Any) -> OperatorCall:
            return OperatorCall(good.name, values, {**good.named, **named}, good.reference)

        first, second, *rest = good.values
        on_gpu = self.device != "cpu"
        if self.attends:
            yield WrongIndexType, other(good.values, full_counts=good.named["full_counts"].long())
            yield NotContiguous, other((first, second.mT.contiguous().mT, *rest))
            if on_gpu:
                yield NoKernel, other(tuple(v[..., :-8].contiguous() for v in good.values))
        else:
            yield WrongIndexType, other((first, second, rest[0].long(), *rest[1:]))
            yield NotContiguous, other((first.transpose(1, 2), *good.values[1:]))
            if on_gpu:
                yield NoKernel, other((first[:, :24].contiguous(), *good.values[1:]))


def workload(kernel: Kernel) -> WorkloadSpec:
    """Return a small product for a kernel."""
    (rows, cols), (bm, bk) = GRID, kernel.block
    bn = kernel.block_b[1] if kernel.block_b else None
    return WorkloadSpec(
        id=kernel.id,
        operation=kernel.operation,
        dtype=kernel.dtype,
        distribution="normal",
        seed=SEED,
        relative_tolerance=TOLERANCES[kernel.dtype],
        m=rows * bm,
        n=N if bn is None else 3 * bn,
        k=cols * bk,
        pattern=PatternSpec("random", bm, bk, 2),
        pattern_b=None if bn is None else PatternSpec("random", bk, bn, 2),
    )


def products(case: OperatorCase) -> Iterator[OperatorCall]:
    """Yield products with rows of one length, of every length, and with nothing stored at all."""
    w = workload(case.kernel)
    assert w.pattern is not None
    ragged = ragged_blocks(w.pattern, *GRID, SEED)
    sides = w.pattern.block_rows, w.pattern.block_cols
    empty = Blocks(*GRID, *sides, ragged.row_ptr * 0, ragged.col_idx[:0])
    other = None
    if w.pattern_b is not None:
        other = ragged_blocks(w.pattern_b, GRID[1], w.n // w.pattern_b.block_cols, SEED + 1)
    for name, layout in (
        ("regular", None),
        ("ragged, with an empty row", (ragged, other)),
        ("nothing stored", (empty, other)),
    ):
        yield _product(name, make_inputs(w, case.device, SEED, layout))


def _product(name: str, inputs: Inputs) -> OperatorCall:
    t, w, a, b = inputs.tensors, inputs.workload, inputs.blocks, inputs.blocks_b
    assert a is not None
    values = [t[each] for each in ("a_values", "a_row_ptr", "a_col_idx")]
    if b is None:
        values.append(t["b"])
    else:
        values += [*(t[each] for each in ("b_values", "b_row_ptr", "b_col_idx")), w.n]

    def reference(a_values: Tensor, _rows: Tensor, _cols: Tensor, other: Tensor, *_: Any) -> Any:
        right = other if b is None else densify(b, other, (w.k, w.n))
        return (densify(a, a_values, (w.m, w.k)) @ right,)

    return OperatorCall(name, tuple(values), {}, reference)


def masks(case: OperatorCase) -> Iterator[tuple[str, AttentionMask]]:
    """Yield whole blocks, windows and bits; shared, and of each batch and head; ragged lengths and
    empty rows.
    """
    block, device = case.kernel.block[0], case.device
    queries, keys = ROWS * block, COLUMNS * block
    sizes: dict[str, Any] = {"block": block, "device": device}
    yield (
        "random, a pattern a head",
        AttentionMask.pattern("random", queries, keys, 2, seed=SEED, heads=HEADS, **sizes),
    )
    whole = AttentionMask.pattern("sliding_window", queries, keys, 2, **sizes)
    yield "window of whole blocks", whole
    yield "causal, ragged", AttentionMask.window(queries - 24, keys - 8, **sizes)
    yield (
        "window with empty rows",
        AttentionMask.window(keys, queries, left=block + 3, right=5, **sizes),
    )
    yield "sinks", AttentionMask.window(queries, keys, left=block // 2, sinks=3, **sizes)
    yield "documents, a mask a batch", documents(case, 1)
    yield "nothing selected", AttentionMask(queries, keys, block, None, None)


def documents(case: OperatorCase, seed: int) -> AttentionMask:
    """Return a mask of packed documents, another for each batch and head, whose lists have places
    for every block: of one shape for every seed.
    """
    block, device = case.kernel.block[0], case.device
    length = ROWS * block - 24
    generator = torch.Generator().manual_seed(seed)
    borders = torch.rand((BATCHES, length), generator=generator) < 2 / block
    ids = borders.cumsum(dim=1).to(device)

    def seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        alike = ids[batch, query] == ids[batch, key]
        return (alike & (key <= query)) | (key // block == (head + seed) % ROWS)

    made = AttentionMask.from_mask_mod(
        seen, length, length, batches=BATCHES, heads=HEADS, block=block, device=device
    )
    return made.with_room(ROWS)


def attention(case: OperatorCase, name: str, mask: AttentionMask, seed: int = SEED) -> OperatorCall:
    """Return values for a mask by a seed: q as a view of [batch, length, heads, head_dim]."""
    generator = torch.Generator(device=case.device).manual_seed(seed)
    dtype, head_dim = DTYPES[case.kernel.dtype], case.kernel.head_dim

    def normal(*shape: int) -> Tensor:
        return torch.randn((*shape, head_dim), generator=generator, device=case.device).to(dtype)

    q = normal(BATCHES, mask.queries, HEADS).transpose(1, 2)
    k, v = (normal(BATCHES, KV_HEADS, mask.keys) for _ in range(2))
    seen = mask.dense().to(case.device)
    # Elsewhere a block that is read may hold a key that nobody selects.
    unread = ~seen.any(dim=2).any(dim=1).any(dim=0)
    return OperatorCall(
        name,
        (q, k, v),
        mask.arguments,
        lambda *values: dense_attention(seen, *values),
        unread if name == "window of whole blocks" else None,
    )


def dense_attention(seen: Tensor, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return result and log-sum-exp from the whole mask; of a query without any key 0 and
    -infinity.
    """
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = (q @ k.mT / math.sqrt(q.shape[3])).masked_fill(~seen, -math.inf)
    empty = (scores == -math.inf).all(dim=3)
    lse = torch.logsumexp(scores.masked_fill(empty[..., None], 0), dim=3)
    lse = lse.masked_fill(empty, -math.inf)
    return torch.exp(scores - finite(lse)[..., None]) @ v, lse


def finite(lse: Tensor) -> Tensor:
    """Return 0 in place of what a query without any key has."""
    return lse.masked_fill(lse == -math.inf, 0)

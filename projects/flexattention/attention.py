"""FlexAttention beside FlashAttention-2, by PyTorch's own functions: causal, window, documents.

All tensors are bf16, [batch, heads, seqlen, headdim]. A FlexAttention arm is ``flex_attention``
under ``torch.compile``, as the announcement calls it; on a CPU it is called as it stands, which
computes the same. FlashAttention-2 is the one in PyTorch; where its Python function takes no such
mask, its operator is called.
"""

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

Tensor = torch.Tensor
Mask = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ROWS = 4096
"""Of the scores that an oracle holds at a time."""
DOCUMENTS = (4000, 2144, 2000, 1072, 1048, 1000, 948, 800, 724, 600, 524, 500, 412, 300, 212, 100)
"""Lengths of the documents of one packed sequence; few are a whole number of blocks."""
INTERFACES = ("flash_attn_interface", "fa3_fwd_interface")
"""FlashAttention-3 as its authors install it, then as the wheel does."""


def causal_mask(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """Return whether a query may see a key: none that comes after it."""
    return query >= key


def window_mask(window: int) -> Mask:
    """Return the mask of a causal window: ``window`` keys before the query, and its own."""

    def seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (query - key <= window)

    return seen


def document_mask(lengths: tuple[int, ...], device: str) -> Mask:
    """Return the mask of packed documents: a query sees its own document, whole."""
    number = torch.arange(len(lengths), device=device)
    document = number.repeat_interleave(torch.tensor(lengths, device=device))

    def seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return document[query] == document[key]

    return seen


def case_causal(batch: int, heads: int, seqlen: int, headdim: int, device: str) -> dict[str, Any]:
    """Return the causal forward pass: three ways of FlexAttention, two of FlashAttention."""
    shape = (batch, heads, seqlen, headdim)
    blocks = _block_mask(causal_mask, seqlen, device)
    everywhere = masked_everywhere(blocks)
    attend = _forward_only(device)

    def score_mod(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return torch.where(query >= key, score, -float("inf"))

    return {
        "inputs": functools.partial(_inputs, ("q", "k", "v"), shape, device),
        "oracle": functools.partial(forward, mask=causal_mask),
        "flex": lambda q, k, v: attend(q, k, v, block_mask=blocks),
        "score_mod": lambda q, k, v: attend(q, k, v, score_mod=score_mod),
        "masked_everywhere": lambda q, k, v: attend(q, k, v, block_mask=everywhere),
        "fa2": lambda q, k, v: flash(q, k, v, is_causal=True),
        "fa3": flash_attention_3,
    }


def case_window(
    batch: int, heads: int, seqlen: int, headdim: int, window: int, device: str
) -> dict[str, Any]:
    """Return the forward pass over a causal window."""
    shape = (batch, heads, seqlen, headdim)
    mask = window_mask(window)
    blocks = _block_mask(mask, seqlen, device)
    attend = _forward_only(device)
    places = torch.arange(seqlen, device=device)
    dense = mask(places, places, places[:, None], places[None, :])

    def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=dense)

    def fa2(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
        found = torch.ops.aten._flash_attention_forward(
            q, k, v, None, None, seqlen, seqlen, 0.0, True, False,
            window_size_left=window, window_size_right=0,
        )  # fmt: skip
        return found[0].transpose(1, 2)

    return {
        "inputs": functools.partial(_inputs, ("q", "k", "v"), shape, device),
        "oracle": functools.partial(forward, mask=mask),
        "flex": lambda q, k, v: attend(q, k, v, block_mask=blocks),
        "masked": masked,
        "fa2": fa2,
    }


def case_documents(
    heads: int, seqlen: int, headdim: int, pairs: int, device: str
) -> dict[str, Any]:
    """Return the forward pass over packed documents; ``pairs``: of queries and keys that meet.

    Raises ValueError where they are not those of DOCUMENTS.
    """
    if (sum(DOCUMENTS), sum(length**2 for length in DOCUMENTS)) != (seqlen, pairs):
        raise ValueError(f"the documents have not {seqlen} tokens and {pairs} pairs")
    shape = (1, heads, seqlen, headdim)
    mask = document_mask(DOCUMENTS, device)
    blocks = _block_mask(mask, seqlen, device)
    attend = _forward_only(device)
    ends = torch.tensor((0, *DOCUMENTS), device=device).cumsum(0).to(torch.int32)

    def fa2(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        packed = (tensor[0].transpose(0, 1) for tensor in (q, k, v))
        found = torch.ops.aten._flash_attention_forward(
            *packed, ends, ends, max(DOCUMENTS), max(DOCUMENTS), 0.0, False, False
        )
        return found[0].transpose(0, 1)[None]

    return {
        "inputs": functools.partial(_inputs, ("q", "k", "v"), shape, device),
        "oracle": functools.partial(forward, mask=mask),
        "flex": lambda q, k, v: attend(q, k, v, block_mask=blocks),
        "fa2": fa2,
    }


def case_training(batch: int, heads: int, seqlen: int, headdim: int, device: str) -> dict[str, Any]:
    """Return a causal forward pass and its backward pass: the gradients of Q, K and V, stacked."""
    shape = (batch, heads, seqlen, headdim)
    blocks = _block_mask(causal_mask, seqlen, device)
    compiled = _compiled(device)

    def gradients(
        attend: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor, grad: Tensor
    ) -> Tensor:
        leaves = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
        with torch.enable_grad():
            out = attend(*leaves)
        return torch.stack(torch.autograd.grad(out, leaves, grad))

    return {
        "inputs": functools.partial(_inputs, ("q", "k", "v", "grad"), shape, device),
        "oracle": functools.partial(backward, mask=causal_mask),
        "flex": functools.partial(
            gradients, lambda q, k, v: compiled()(q, k, v, block_mask=blocks)
        ),
        "fa2": functools.partial(gradients, functools.partial(flash, is_causal=True)),
    }


def _inputs(
    names: tuple[str, ...], shape: tuple[int, ...], device: str, seed: int
) -> dict[str, Tensor]:
    generator = torch.Generator(device=device).manual_seed(seed)
    return {
        name: torch.randn(shape, generator=generator, device=device).bfloat16() for name in names
    }


def _block_mask(mask: Mask, seqlen: int, device: str) -> BlockMask:
    return create_block_mask(mask, None, None, seqlen, seqlen, device=device)


def masked_everywhere(blocks: BlockMask) -> BlockMask:
    """Return a mask of the same blocks where every one is called partial: all of them are masked
    element by element.
    """
    rows = blocks.kv_indices.shape[-1]
    seen = blocks.to_dense()[..., :rows, :rows].bool()
    counts = seen.sum(-1, dtype=torch.int32)
    # Columns that are seen come first, in their order; what stands behind them is not read.
    columns = seen.int().argsort(dim=-1, descending=True, stable=True).to(torch.int32)
    return BlockMask.from_kv_blocks(
        counts, columns, BLOCK_SIZE=blocks.BLOCK_SIZE, mask_mod=blocks.mask_mod,
        seq_lengths=blocks.seq_lengths,
    )  # fmt: skip


def _forward_only(device: str) -> Callable[..., Tensor]:
    """Return FlexAttention for forward passes: it writes nothing for a backward one."""
    compiled = _compiled(device)

    def attend(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        with torch.no_grad():
            return compiled()(q, k, v, **options)

    return attend


def _compiled(device: str) -> Callable[[], Callable[..., Tensor]]:
    """Return what returns FlexAttention, compiled once, when it is first asked for."""

    @functools.cache
    def attend() -> Callable[..., Tensor]:
        if not device.startswith("cuda"):
            return flex_attention
        return torch.compile(flex_attention, dynamic=False, fullgraph=True)

    return attend


def flash(q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool) -> Tensor:
    """Return attention by PyTorch's FlashAttention-2."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def flash_attention_3(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return causal attention by FlashAttention-3. Raises ModuleNotFoundError where it is not
    installed.
    """
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    found = _interface().flash_attn_func(q, k, v, causal=True)
    out: Tensor = found[0] if isinstance(found, tuple) else found
    return out.transpose(1, 2)


@functools.cache
def _interface() -> Any:
    for name in INTERFACES:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise ModuleNotFoundError(f"none of {', '.join(INTERFACES)} is installed")


def _probabilities(q: Tensor, k: Tensor, mask: Mask, begin: int) -> Tensor:
    """Softmax of the scores of one head's rows from ``begin`` on, in float64."""
    scores = q.double() @ k.double().T / math.sqrt(q.shape[-1])
    rows = torch.arange(begin, begin + q.shape[0], device=q.device)
    columns = torch.arange(k.shape[0], device=q.device)
    zero = rows.new_zeros(())
    hidden = ~mask(zero, zero, rows[:, None], columns[None, :])
    return scores.masked_fill_(hidden, -math.inf).softmax(-1)


def forward(q: Tensor, k: Tensor, v: Tensor, *, mask: Mask) -> Tensor:
    """Return masked attention in float64, rounded to float32."""
    out = torch.empty(q.shape, dtype=torch.float32, device=q.device)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for begin in range(0, q.shape[2], ROWS):
                rows = slice(begin, begin + ROWS)
                shares = _probabilities(q[b, h, rows], k[b, h], mask, begin)
                out[b, h, rows] = (shares @ v[b, h].double()).float()
    return out


def backward(q: Tensor, k: Tensor, v: Tensor, grad: Tensor, *, mask: Mask) -> Tensor:
    """Return the gradients of Q, K and V, stacked, in float64, rounded to float32."""
    found = torch.zeros(3, *q.shape, dtype=torch.float64, device=q.device)
    scale = 1 / math.sqrt(q.shape[-1])
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for begin in range(0, q.shape[2], ROWS):
                rows = slice(begin, begin + ROWS)
                shares = _probabilities(q[b, h, rows], k[b, h], mask, begin)
                given = grad[b, h, rows].double()
                toward = given @ v[b, h].double().T
                inner = shares * (toward - (toward * shares).sum(-1, keepdim=True)) * scale
                found[0, b, h, rows] = inner @ k[b, h].double()
                found[1, b, h] += inner.T @ q[b, h, rows].double()
                found[2, b, h] += shares.T @ given
    return found.float()

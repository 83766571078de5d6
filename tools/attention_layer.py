"""A model's attention layer with this project's kernel in place of FlexAttention, on one GPU.

``python -m tools.attention_layer results/kernels/h200`` builds the layer of a model with grouped
queries (32 heads of 128 on 8 of keys and values, a model dimension of 4096, rotary positions). Each
query sees a causal window of 1,024 keys and 8 blocks of 128 drawn at random before it. The layer
runs forward, and forward and backward, once with each kind of attention. Printed are medians of
times by CUDA events, and how far off outputs and gradients are from the same layer in float32 with
dense attention, at a shorter length. ``--record FILE`` keeps that as JSON.
"""

import argparse
import json
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from assay import ops
from assay.device.kernels.oracles import measure_errors
from assay.ops.attention_mask import AttentionMask
from assay.ops.checks import Tensor

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]

COMPARED = ("assay", "flex")
BLOCK = 128
RUNS = 20
WARM = 5


@dataclass(frozen=True)
class Shape:
    """Sizes of a layer."""

    length: int
    model: int = 4096
    heads: int = 32
    kv_heads: int = 8
    window: int = 1024
    drawn: int = 8
    """Blocks of keys at random, beside the window."""

    @property
    def head_dim(self) -> int:
        """Return the elements of a head."""
        return self.model // self.heads


def mask_mod(shape: Shape, device: str) -> Callable[..., Tensor]:
    """Return which keys a query sees: a window before it, and blocks drawn before that."""
    generator = torch.Generator().manual_seed(1)
    rows = shape.length // BLOCK
    chosen = torch.rand(rows, rows, generator=generator).argsort(-1)[:, : shape.drawn]
    seen = torch.zeros(rows, rows, dtype=torch.bool).scatter_(1, chosen, value=True).to(device)

    def mod(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        near = query - key < shape.window
        return (key <= query) & (near | seen[query // BLOCK, key // BLOCK])

    return mod


class Layer(nn.Module):  # type: ignore[misc]  # mypy sees no torch
    """Projections, rotary positions and attention, as models have them."""

    def __init__(self, shape: Shape, attention: Attention) -> None:
        super().__init__()
        self.shape, self.attention = shape, attention
        across = shape.kv_heads * shape.head_dim
        self.query = nn.Linear(shape.model, shape.model, bias=False)
        self.key, self.value = (nn.Linear(shape.model, across, bias=False) for _ in range(2))
        self.out = nn.Linear(shape.model, shape.model, bias=False)
        steps = torch.arange(0, shape.head_dim, 2) / shape.head_dim
        angles = torch.arange(shape.length)[:, None] * 10000.0**-steps
        self.register_buffer("turn", torch.stack([angles.cos(), angles.sin()]))

    def forward(self, x: Tensor) -> Tensor:
        """Return [batch, length, model] for the same."""

        def split(y: Tensor) -> Tensor:
            return y.unflatten(-1, (-1, self.shape.head_dim)).transpose(1, 2)

        q, k = (self._turned(split(each(x))) for each in (self.query, self.key))
        found = self.attention(q, k, split(self.value(x)))
        return self.out(found.transpose(1, 2).flatten(2))

    def _turned(self, x: Tensor) -> Tensor:
        cos, sin = self.turn.to(x.dtype)
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def attentions(shape: Shape, device: str) -> dict[str, Attention]:
    """Return attention by both, and by PyTorch's dense one with the mask written out."""
    mod, length = mask_mod(shape, device), shape.length
    blocks = create_block_mask(mod, 1, 1, length, length, device, BLOCK_SIZE=BLOCK)
    ours, flex = AttentionMask.from_block_mask(blocks), torch.compile(flex_attention)

    def dense(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        at = torch.arange(length, device=device)
        seen = mod(at, at, at[:, None], at[None, :])
        return scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)

    return {
        "assay": lambda q, k, v: ops.flex_block_sparse_attention(q, k, v, ours),
        "flex": lambda q, k, v: flex(q, k, v, block_mask=blocks, enable_gqa=True),
        "dense": dense,
    }


def layer_of(shape: Shape, attention: Attention, dtype: torch.dtype, device: str) -> Layer:
    """Return the layer with the same weights each time."""
    torch.manual_seed(2)
    layer = Layer(shape, attention)
    layer.to(device, dtype)
    return layer


def results(layer: Layer, x: Tensor) -> list[Tensor]:
    """Return the layer's output, and the gradients by x and by every weight."""
    x = x.detach().requires_grad_()
    y = layer(x)
    return [y.detach(), *torch.autograd.grad(y.float().square().sum(), [x, *layer.parameters()])]


def median_ms(work: Callable[[], Any]) -> float:
    """Return the median time of RUNS calls by CUDA events."""
    times = []
    for number in range(WARM + RUNS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        stop.synchronize()
        if number >= WARM:
            times.append(start.elapsed_time(stop))
    return float(statistics.median(times))


def relative(found: Tensor, right: Tensor) -> float:
    """Return the relative Frobenius error; infinite where what is right is zero and that is not."""
    error = measure_errors(found, right).relative
    return math.inf if error is None else error


def errors(
    shape: Shape, dtype: torch.dtype, device: str, names: tuple[str, ...] = COMPARED
) -> dict[str, tuple[float, float]]:
    """Return the error of the output, and the largest of any gradient, by attention."""
    torch.manual_seed(3)
    x = torch.randn(1, shape.length, shape.model, dtype=dtype, device=device)
    every = attentions(shape, device)
    exact = layer_of(shape, every["dense"], dtype, device).float()
    right = results(exact, x.float())
    found = {}
    for name in names:
        ours = results(layer_of(shape, every[name], dtype, device), x)
        output, *gradients = map(relative, ours, right)
        found[name] = output, max(gradients)
    return found


def times(shape: Shape, dtype: torch.dtype) -> dict[str, tuple[float, float]]:
    """Return ms of the layer forward, and forward and backward, by attention."""
    x = torch.randn(1, shape.length, shape.model, dtype=dtype, device="cuda")
    every = attentions(shape, "cuda")
    found = {}
    for name in COMPARED:
        layer = layer_of(shape, every[name], dtype, "cuda")
        with torch.no_grad():
            forward = median_ms(partial(layer.forward, x))
        found[name] = forward, median_ms(partial(results, layer, x))
    return found


def table(record: Mapping[str, Any]) -> str:
    """Return what was measured as a table in Markdown."""
    lines = [
        "| attention | forward | forward and backward | output off by | gradients off by |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, (forward, both) in record["ms"].items():
        output, gradient = record["errors"][name]
        lines.append(
            f"| {name} | {forward:.2f} ms | {both:.2f} ms | {output:.1e} | {gradient:.1e} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print a table of both kinds of attention."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kernels", type=Path, help="of ./assay lab kernels")
    parser.add_argument("--length", type=int, default=32768)
    parser.add_argument("--short", type=int, default=4096, help="where errors are told")
    parser.add_argument("--record", type=Path, metavar="FILE")
    options = parser.parse_args()
    ops.load(options.kernels)
    torch.backends.cuda.matmul.allow_tf32 = False
    dtype = torch.bfloat16
    record = {
        "gpu": torch.cuda.get_device_name(),
        "pytorch": torch.__version__,
        "length": options.length,
        "errors_at": options.short,
        "errors": errors(Shape(options.short), dtype, "cuda"),
        "ms": times(Shape(options.length), dtype),
    }
    print(f"{record['gpu']}, PyTorch {record['pytorch']}, {options.length} tokens")
    print(table(record))
    if options.record:
        options.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

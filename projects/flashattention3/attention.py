"""Attention as FlashAttention-3's paper measures it, by the libraries that are installed.

The paper's sizes (section 4.1): Q, K and V of [batch, seqlen, heads, headdim], where batch times
seqlen is 16k and heads times headdim 2048. FlashAttention-2 and cuDNN are called through PyTorch,
FlashAttention-3 through its own interface, or the one of the wheel that is published as fa3-fwd.
"""

import functools
import importlib
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

Tensor = torch.Tensor
ROWS = 4096
"""Of the scores that the oracle holds at a time."""
INTERFACES = ("flash_attn_interface", "fa3_fwd_interface")
"""FlashAttention-3 as its authors install it, then as the wheel does."""


def case(
    batch: int, seqlen: int, heads: int, headdim: int, causal: int, device: str
) -> dict[str, Any]:
    """Return attention in fp16, and in bf16 of the same values rounded once more.

    Arms whose names end in ``_bf16`` read the bf16 tensors; the oracle reads the fp16 ones.
    """
    shape = (batch, seqlen, heads, headdim)

    def inputs(seed: int) -> dict[str, Tensor]:
        halves = _normal(("q", "k", "v"), shape, torch.float16, seed, device)
        return halves | {f"{name}_bf16": tensor.bfloat16() for name, tensor in halves.items()}

    def on_halves(arm: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda q, k, v, **_: arm(q, k, v, bool(causal))

    def on_bf16(arm: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda q_bf16, k_bf16, v_bf16, **_: arm(q_bf16, k_bf16, v_bf16, bool(causal))

    fa2 = functools.partial(through_pytorch, SDPBackend.FLASH_ATTENTION)
    cudnn = functools.partial(through_pytorch, SDPBackend.CUDNN_ATTENTION)
    return {
        "inputs": inputs,
        "oracle": lambda q, k, v, **_: attention(q, k, v, causal=bool(causal)),
        "fa3": on_halves(flash_attention_3),
        "fa2": on_halves(fa2),
        "cudnn": on_halves(cudnn),
        "fa3_bf16": on_bf16(flash_attention_3),
        "fa2_bf16": on_bf16(fa2),
        "cudnn_bf16": on_bf16(cudnn),
    }


def case_fp8(
    batch: int, seqlen: int, heads: int, headdim: int, causal: int, device: str
) -> dict[str, Any]:
    """Return attention over e4m3 inputs without scales; the oracle takes their values as exact."""
    shape = (batch, seqlen, heads, headdim)
    return {
        "inputs": lambda seed: _normal(("q", "k", "v"), shape, torch.float8_e4m3fn, seed, device),
        "oracle": lambda q, k, v: attention(q, k, v, causal=bool(causal)),
        "fa3_fp8": lambda q, k, v: flash_attention_3(q, k, v, bool(causal)),
    }


def _normal(
    names: tuple[str, ...], shape: tuple[int, ...], dtype: torch.dtype, seed: int, device: str
) -> dict[str, Tensor]:
    generator = torch.Generator(device=device).manual_seed(seed)
    return {
        name: torch.randn(shape, generator=generator, device=device).to(dtype) for name in names
    }


def attention(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """Return softmax(q k^T / sqrt(headdim)) v in float64, rounded to float32, as [B, S, H, D]."""
    batch, seqlen, heads, headdim = q.shape
    out = torch.empty(q.shape, dtype=torch.float32, device=q.device)
    places = torch.arange(seqlen, device=q.device)
    for b in range(batch):
        for h in range(heads):
            # By way of float32: not every PyTorch turns 8-bit floats into doubles.
            keys, values = k[b, :, h].float().double(), v[b, :, h].float().double()
            for begin in range(0, seqlen, ROWS):
                rows = slice(begin, min(begin + ROWS, seqlen))
                scores = q[b, rows, h].float().double() @ keys.T / math.sqrt(headdim)
                if causal:
                    scores.masked_fill_(places[None, :] > places[rows, None], -math.inf)
                out[b, rows, h] = (scores.softmax(-1) @ values).float()
    return out


def through_pytorch(backend: SDPBackend, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Return attention by one backend of PyTorch, which takes [B, H, S, D].

    Raises NotImplementedError where the backend takes no such problem here.
    """
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    with sdpa_kernel(backend):
        try:
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        except RuntimeError as error:  # a plain one, so its text is all there is
            if "No available kernel" in str(error) or "No viable backend" in str(error):
                raise NotImplementedError(f"{backend.name} takes no such problem here") from error
            raise
    return out.transpose(1, 2)


@functools.cache
def interface() -> ModuleType:
    """Return FlashAttention-3's module. Raises ModuleNotFoundError where none is installed."""
    for name in INTERFACES:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise ModuleNotFoundError(f"none of {', '.join(INTERFACES)} is installed")


@functools.cache
def left_out() -> frozenset[str]:
    """Return what the installed build of FlashAttention-3 says that it was built without."""
    if interface().__name__ != "fa3_fwd_interface":
        return frozenset()
    flags = importlib.import_module("fa3_fwd_config").CONFIG["build_flags"]
    return frozenset(name.partition("_DISABLE_")[2] for name, off in flags.items() if off)


def flash_attention_3(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Return attention by FlashAttention-3.

    Raises ModuleNotFoundError where it is not installed, NotImplementedError where the build that
    is installed was made without kernels of this type.
    """
    library = interface()
    if q.dtype is torch.float16 and "FP16" in left_out():
        raise NotImplementedError(
            "the FlashAttention-3 that is installed was built without fp16 kernels"
        )
    found = library.flash_attn_func(q, k, v, causal=causal)
    return found[0] if isinstance(found, tuple) else found

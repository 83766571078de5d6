"""Products in FP8 and fp16, and copies, by the libraries that are installed.

FP8 with fine-grained scales is what DeepGEMM computes: A of [m, k] has a scale for each row's 128
columns, B of [n, k] one for each 128 x 128 block, and C = A B^T is bf16. cuBLAS does the same since
CUDA 12.9, through torch.nn.functional.scaled_mm.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

Tensor = torch.Tensor
FP8 = torch.float8_e4m3fn
BLOCK = 128
DEEPGEMM_NAMES = ("gemm_fp8_fp8_bf16_nt", "fp8_gemm_nt")
"""What DeepGEMM calls the product: in March 2025, of which its README tells, and since."""
STRIPES = 4096
"""Rows of a product that the oracle holds at a time."""


def case_scaled(m: int, n: int, k: int, device: str) -> dict[str, Any]:
    """Return the product with scales a block; m is any, n and k are whole numbers of blocks."""

    def inputs(seed: int) -> dict[str, Tensor]:
        generator = torch.Generator(device=device).manual_seed(seed)
        a = torch.randn(m, k, generator=generator, device=device)
        b = torch.randn(n, k, generator=generator, device=device)
        scales_a = a.view(m, k // BLOCK, BLOCK).abs().amax(-1) / torch.finfo(FP8).max
        blocks = b.view(n // BLOCK, BLOCK, k // BLOCK, BLOCK)
        scales_b = blocks.abs().amax((1, 3)) / torch.finfo(FP8).max
        wide_b = scales_b.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
        return {
            "a": (a / scales_a.repeat_interleave(BLOCK, 1)).to(FP8),
            "b": (b / wide_b).to(FP8),
            "scales_a": scales_a,
            "scales_b": scales_b,
            # As the libraries want them; to lay them out is left to what comes before.
            "columns_a": scales_a.T.contiguous(),
            "padded_b": functional.pad(scales_b, (0, -scales_b.shape[1] % 4)),
        }

    return {
        "inputs": inputs,
        "oracle": scaled_product,
        "deepgemm": deepgemm,
        "cublas_blockwise": cublas_blockwise,
    }


def scaled_product(a: Tensor, b: Tensor, scales_a: Tensor, scales_b: Tensor, **_: Tensor) -> Tensor:
    """Return A B^T of the values that the scaled operands stand for, in float64, as float32."""
    wide_b = scales_b.double().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    right = (b.float().double() * wide_b).T
    out = torch.empty(a.shape[0], b.shape[0], dtype=torch.float32, device=a.device)
    for begin in range(0, a.shape[0], STRIPES):
        rows = slice(begin, begin + STRIPES)
        wide_a = scales_a[rows].double().repeat_interleave(BLOCK, 1)
        out[rows] = ((a[rows].float().double() * wide_a) @ right).float()
    return out


def deepgemm(a: Tensor, b: Tensor, columns_a: Tensor, scales_b: Tensor, **_: Tensor) -> Tensor:
    """Return the product by DeepGEMM as it is installed: its authors' build or SGLang's package.

    It wants the scales of A column by column, each column at a multiple of 16 bytes: m is a
    multiple of four. Raises ModuleNotFoundError where it is not installed, NotImplementedError
    where it was built for another PyTorch or has none of the names of this product.
    """
    out = torch.empty(a.shape[0], b.shape[0], dtype=torch.bfloat16, device=a.device)
    _deepgemm_product()((a, columns_a.T), (b, scales_b), out)
    return out


@functools.cache
def _deepgemm_product() -> Callable[..., None]:
    try:
        library = importlib.import_module("deep_gemm")
    except OSError as error:
        raise NotImplementedError("the DeepGEMM here was built for another PyTorch") from error
    for name in DEEPGEMM_NAMES:
        if hasattr(library, name):
            return getattr(library, name)
    raise NotImplementedError(f"this DeepGEMM has none of {', '.join(DEEPGEMM_NAMES)}")


def cublas_blockwise(
    a: Tensor, b: Tensor, columns_a: Tensor, padded_b: Tensor, **_: Tensor
) -> Tensor:
    """Return the product by cuBLAS with the same scales.

    It wants those of A column by column, those of B row by row, in rows of a multiple of four.
    Raises NotImplementedError on a device that has no such product.
    """
    if not a.is_cuda:
        raise NotImplementedError("cuBLAS multiplies on a GPU")
    recipe = functional.ScalingType
    return functional.scaled_mm(
        a,
        b.T,
        columns_a.T,
        recipe.BlockWise1x128,
        padded_b.T,
        recipe.BlockWise128x128,
        output_dtype=torch.bfloat16,
    )


def case_fp16(size: int, values: str, device: str) -> dict[str, Any]:
    """Return a square product in fp16; ``values`` are ``normal`` or ``zeros``."""

    def inputs(seed: int) -> dict[str, Tensor]:
        generator = torch.Generator(device=device).manual_seed(seed)
        shape = (size, size)
        drawn = {
            name: torch.randn(shape, generator=generator, device=device) for name in ("a", "b")
        }
        factors = {"a": 1.0, "b": size**-0.5}
        kept = 0.0 if values == "zeros" else 1.0
        return {name: (drawn[name] * factors[name] * kept).half() for name in drawn}

    def cublas(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        return torch.mm(a, b, out=out)

    return {
        "inputs": inputs,
        "oracle": lambda a, b: _wide(a, b.double()),
        "output": lambda: torch.empty(size, size, dtype=torch.float16, device=device),
        "cublas": cublas,
    }


def case_fp8(size: int, device: str) -> dict[str, Any]:
    """Return a square product in e4m3 with one scale a tensor, of 1, and a bf16 result."""

    def inputs(seed: int) -> dict[str, Tensor]:
        generator = torch.Generator(device=device).manual_seed(seed)
        return {
            name: torch.randn(size, size, generator=generator, device=device).to(FP8)
            for name in ("a", "b")
        }

    @functools.cache
    def one() -> Tensor:
        return torch.ones((), dtype=torch.float32, device=device)

    def product(fast: bool) -> Callable[..., Tensor]:
        return lambda a, b: torch._scaled_mm(
            a, b.T, one(), one(), out_dtype=torch.bfloat16, use_fast_accum=fast
        )

    return {
        "inputs": inputs,
        "oracle": lambda a, b: _wide(a, b.float().double().T),
        "fast": product(fast=True),
        "accurate": product(fast=False),
    }


def _wide(a: Tensor, right: Tensor) -> Tensor:
    """A times ``right``, which is float64, some rows at a time."""
    out = torch.empty(a.shape[0], right.shape[1], dtype=torch.float32, device=a.device)
    for begin in range(0, a.shape[0], STRIPES):
        rows = slice(begin, begin + STRIPES)
        out[rows] = (a[rows].float().double() @ right).float()
    return out


def case_copy(elements: int, device: str) -> dict[str, Any]:
    """Return a copy of float32 numbers from one buffer to another."""

    def inputs(seed: int) -> dict[str, Tensor]:
        generator = torch.Generator(device=device).manual_seed(seed)
        return {"x": torch.randn(elements, generator=generator, device=device)}

    return {
        "inputs": inputs,
        "oracle": lambda x: x.clone(),
        "output": lambda: torch.empty(elements, dtype=torch.float32, device=device),
        "memcpy": lambda x, out: out.copy_(x),
        "elementwise": lambda x, out: torch.mul(x, 1.0, out=out),
    }

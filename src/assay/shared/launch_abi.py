"""The calling convention of our kernels: a shared library, a C launcher, pointers, a stream."""

import ctypes
from collections.abc import Callable
from pathlib import Path

from assay.shared.errors import NoRoom, Unsupported
from assay.shared.files import sha256_file
from assay.shared.specs import ArtifactSpec, VariantSpec, WorkloadSpec

WORKSPACE_BYTES = 64 * 2**20
"""Scratch memory that every launcher is offered: counters, and partial sums of split tiles."""

REFUSALS = {
    1: "cudaErrorInvalidValue",
    98: "cudaErrorInvalidDeviceFunction",
    200: "cudaErrorInvalidKernelImage",
    209: "cudaErrorNoKernelImageForDevice",
    222: "cudaErrorUnsupportedPtxVersion",
    801: "cudaErrorNotSupported",
}
"""cudaError_t codes that mean "not this shape" or "not this device"; all others are failures."""

OUT_OF_MEMORY = 2
"""cudaErrorMemoryAllocation, and CUDA_ERROR_OUT_OF_MEMORY of the driver."""

OPERANDS = {
    "bsr_gemm": ("a_values", "a_row_ptr", "a_col_idx", "b"),
    "bsr_bsr_gemm": (
        *("a_values", "a_row_ptr", "a_col_idx"),
        *("b_values", "b_row_ptr", "b_col_idx"),
    ),
    "tma_load": ("a",),
}
"""Input pointers of each ABI, in order; c, m, n, k, workspace, its size and the stream follow.
A size that an operation does not have is 0."""

PROJECT = "project"
"""ABI of a project's kernel: its operands, the output, its sizes, workspace, its size, stream."""


def check_status(code: int, what: str) -> None:
    """Raise for a cudaError_t: Unsupported for a refusal, RuntimeError for anything else.

    The RuntimeError is a NoRoom where memory ran out.
    """
    if code in REFUSALS:
        raise Unsupported(f"{what} refused: {REFUSALS[code]} ({code})")
    if code != 0:
        failure = NoRoom if code == OUT_OF_MEMORY else RuntimeError
        raise failure(f"{what} failed with cudaError_t {code}")


def checked_library(artifact: ArtifactSpec) -> Path:
    """Return the library's path, after its digest was checked. Raises RuntimeError."""
    path = Path(artifact.path).resolve()
    found = sha256_file(path)
    if found != artifact.sha256:
        raise RuntimeError(f"{path.name} has SHA-256 {found}, not {artifact.sha256}")
    return path


def operands_of(variant: VariantSpec) -> tuple[str, ...]:
    """Return the inputs whose addresses a launcher takes. Raises RuntimeError for another ABI."""
    if variant.abi == PROJECT:
        return variant.operands
    if variant.abi not in OPERANDS:
        raise RuntimeError(f"variant '{variant.id}' names no known ABI: {variant.abi}")
    return OPERANDS[variant.abi]


def sizes_of(variant: VariantSpec, w: WorkloadSpec) -> tuple[int, ...]:
    """Return the sizes that a launcher takes: m, n and k; those of a project are its own."""
    if variant.abi == PROJECT:
        return tuple(int(w.parameters[name]) for name in variant.sizes)
    return w.m, w.n, w.k


def load_launcher(
    artifact: ArtifactSpec, symbol: str, operands: int, sizes: int = 3
) -> Callable[..., int]:
    """Return the C launcher, after its library's digest was checked. Raises RuntimeError."""
    return open_launcher(checked_library(artifact), symbol, operands, sizes)


def open_launcher(path: Path, symbol: str, operands: int, sizes: int) -> Callable[..., int]:
    """Return the C launcher of a library."""
    launcher = getattr(ctypes.CDLL(str(path)), symbol)
    pointer = ctypes.c_void_p
    launcher.argtypes = [
        *[pointer] * operands,
        pointer,  # c
        *[ctypes.c_int] * sizes,
        pointer,  # workspace
        ctypes.c_size_t,
        pointer,  # stream
    ]
    launcher.restype = ctypes.c_int
    result: Callable[..., int] = launcher
    return result

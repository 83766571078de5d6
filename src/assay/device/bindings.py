"""Kernels of this repository: a shared library, a C launcher, raw pointers and a stream."""

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from assay.device.errors import Unsupported
from assay.device.inputs import Inputs, Tensor
from assay.device.jobs import Artifact, Variant, sha256_file
from assay.device.prepared import Prepared

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

OPERANDS = {
    "bsr_gemm": ("a_values", "a_row_ptr", "a_col_idx", "b"),
    "bsr_bsr_gemm": (
        "a_values",
        "a_row_ptr",
        "a_col_idx",
        "b_values",
        "b_row_ptr",
        "b_col_idx",
    ),
    "tma_load": ("a",),
}
"""Input pointers of each ABI, in order; c, m, n, k, workspace, its size and the stream follow.
A size that an operation does not have is 0."""


def check_status(code: int, what: str) -> None:
    """Raise for a cudaError_t: Unsupported for a refusal, RuntimeError for anything else."""
    if code in REFUSALS:
        raise Unsupported(f"{what} refused: {REFUSALS[code]} ({code})")
    if code != 0:
        raise RuntimeError(f"{what} failed with cudaError_t {code}")


def load_launcher(artifact: Artifact, symbol: str, operands: int) -> Callable[..., int]:
    """The C launcher, after its library's digest was checked. Raises RuntimeError."""
    found = sha256_file(artifact.path)
    if found != artifact.sha256:
        raise RuntimeError(f"{artifact.path.name} has SHA-256 {found}, not {artifact.sha256}")
    launcher = getattr(ctypes.CDLL(str(artifact.path.resolve())), symbol)
    pointer = ctypes.c_void_p
    launcher.argtypes = [
        *[pointer] * operands,
        pointer,  # c
        *[ctypes.c_int] * 3,  # m, n, k
        pointer,  # workspace
        ctypes.c_size_t,
        pointer,  # stream
    ]
    launcher.restype = ctypes.c_int
    result: Callable[..., int] = launcher
    return result


def current_stream() -> int:
    """Handle of PyTorch's current stream."""
    return int(torch.cuda.current_stream().cuda_stream)


def bind(
    launcher: Callable[..., int],
    variant: Variant,
    inputs: Inputs,
    stream: Callable[[], int] = current_stream,
) -> Prepared:
    """Bind a launcher to inputs, an output buffer and a workspace. Every launch is checked."""
    w = inputs.workload
    output = inputs.new_output()
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=inputs.device)
    pointers = [inputs.tensors[name].data_ptr() for name in OPERANDS[_abi(variant)]]
    arguments = (*pointers, output.data_ptr(), w.m, w.n, w.k, workspace.data_ptr(), WORKSPACE_BYTES)

    # The launcher sees addresses only: who holds the launch holds the tensors behind them.
    def launch(workspace: Tensor = workspace, inputs: Inputs = inputs) -> Tensor:
        check_status(launcher(*arguments, stream()), variant.id)
        return output

    return Prepared(launch, output)


def _abi(variant: Variant) -> str:
    if variant.abi not in OPERANDS:
        raise RuntimeError(f"variant '{variant.id}' names no known ABI: {variant.abi}")
    return variant.abi


def prepare_kernel(variant: Variant, artifact: Artifact | None, inputs: Inputs) -> Prepared:
    """Load, check and bind a compiled variant. Raises RuntimeError when there is none."""
    if artifact is None or variant.symbol is None:
        raise RuntimeError(f"variant '{variant.id}' has no compiled library in this job")
    operands: tuple[Any, ...] = OPERANDS[_abi(variant)]
    return bind(load_launcher(artifact, variant.symbol, len(operands)), variant, inputs)

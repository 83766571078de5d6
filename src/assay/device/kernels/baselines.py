"""Baselines: libraries called on the same inputs, each prepared once, outside the timing."""

from collections.abc import Callable
from functools import partial

import torch

from assay.device.kernels import attention_rivals, bsr_rivals
from assay.device.kernels.cusparse import prepare_blocked_ell, prepare_bsr
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared
from assay.shared.errors import Unsupported

_NO_FP8 = ("only supported on", "is not implemented for", "Could not run 'aten::_scaled_mm")
"""By which PyTorch says that this device or build multiplies no FP8."""


def _full_precision_sums() -> None:
    """Keep cuBLAS from adding split-K parts in fp16, which no other arm does."""
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def _cublas_dense(inputs: Inputs) -> Prepared:
    """torch.mm into a fixed buffer."""
    _full_precision_sums()
    a, b, out = inputs.tensors["a"], inputs.tensors["b"], inputs.new_output()
    return Prepared(lambda: torch.mm(a, b, out=out), out)


def _torch_linear(inputs: Inputs) -> Prepared:
    """torch.nn.functional.linear: A are the weights, and the columns of B the tokens."""
    _full_precision_sums()
    weights, tokens = inputs.tensors["a"], inputs.tensors["b"].t()
    return Prepared(lambda: torch.nn.functional.linear(tokens, weights).t(), None)


def _scaled_mm(inputs: Inputs) -> Prepared:
    """torch._scaled_mm, FP8 in and bfloat16 out, both scales 1, fast sums, into a fixed buffer.

    Fast sums stay in the tensor cores' own accumulators, which keep fewer bits than fp32; slow ones
    are moved to fp32 registers now and then. The fast way is the rival's best, and ours as well.
    """
    w = inputs.workload
    if w.dtype != "float8_e4m3":
        raise Unsupported("torch._scaled_mm is here for float8_e4m3 workloads only")
    if w.n % 16 or w.k % 16:
        raise Unsupported("torch._scaled_mm needs n and k to be multiples of 16")
    a, b, out = inputs.tensors["a"], inputs.tensors["b"], inputs.new_output()
    one = torch.ones((), dtype=torch.float32, device=inputs.device)
    scaled_mm = partial(torch._scaled_mm, out_dtype=out.dtype, use_fast_accum=True)

    def launch() -> Tensor:
        try:
            return scaled_mm(a, b, one, one, out=out)
        except (RuntimeError, NotImplementedError) as error:
            if any(words in str(error) for words in _NO_FP8):
                first = str(error).partition("\n")[0]
                raise Unsupported(f"torch._scaled_mm: {first}") from error
            raise

    return Prepared(launch, out)


def _torch_bmm(inputs: Inputs) -> Prepared:
    """One batched product for all groups."""
    _full_precision_sums()
    a, b, out = inputs.tensors["a"], inputs.tensors["b"], inputs.new_output()
    return Prepared(lambda: torch.bmm(a, b, out=out), out)


PREPARE: dict[str, Callable[[Inputs], Prepared]] = {
    "cublas_dense": _cublas_dense,
    "torch_linear": _torch_linear,
    "scaled_mm": _scaled_mm,
    "torch_bmm": _torch_bmm,
    "cusparse_bsr": prepare_blocked_ell,
    "cusparse_spmm_bsr": prepare_bsr,
    **bsr_rivals.PREPARE,
    **attention_rivals.PREPARE,
}
"""Variant.entry to the function that prepares it."""


def prepare_library(entry: str | None, inputs: Inputs) -> Prepared:
    """Prepare a baseline by name. Raises RuntimeError for a name that isn't here."""
    if entry not in PREPARE:
        raise RuntimeError(f"there is no baseline '{entry}'; there are {', '.join(PREPARE)}")
    return PREPARE[entry](inputs)

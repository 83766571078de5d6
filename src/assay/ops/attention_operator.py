"""Definition of the attention operators: schemas, CPU and CUDA implementations, fakes, gradient.

    assay::block_sparse_attention            O and log-sum-exp over selected blocks of scores
    assay::block_sparse_attention_fp8        the same of Q, K and V rounded to E4M3
    assay::block_sparse_attention_backward   the gradients by Q, K and V

The last is an operator of its own, so that torch.compile need not look into it; it has no gradient
in turn. Gradients of FP8 are those at the rounded values: rounding has a slope of 1.
"""

import re
from dataclasses import replace
from typing import Any

import torch

from assay.ops import attention_reference as reference
from assay.ops.attention_arguments import (
    AttentionArguments,
    check_attention,
    empty_like,
    empty_lse,
)
from assay.ops.attention_launch import (
    backward_kernel,
    launch_attention,
    launch_backward,
    launch_fp8,
)
from assay.ops.checks import Tensor
from assay.ops.definition import define
from assay.ops.fp8_blocks import quantise, restored

GIVEN_TO_ALL = (
    "Tensor q, Tensor k, Tensor v, Tensor? full_counts=None, Tensor? full_columns=None, "
    "Tensor? partial_counts=None, Tensor? partial_columns=None, Tensor? partial_bits=None, "
    "Tensor? order=None, int block=128, float? scale=None, int window_left=-1, int window_right=-1"
)
FORWARD = f"({GIVEN_TO_ALL}) -> (Tensor, Tensor)"
BACKWARD = (
    "(Tensor grad, Tensor grad_lse, Tensor o, Tensor lse, "
    + re.sub("=[^,]*", "", GIVEN_TO_ALL)  # without defaults
    + ") -> (Tensor, Tensor, Tensor)"
)
GIVEN, VALUES = 13, 3
"""Arguments of the forward operator, and those of them that have gradients: the first."""
TENSORS = 9


def _in_given_types(q: Tensor) -> torch.autocast:
    """Return a context in which products keep the types that they are given, autocast or not."""
    return torch.autocast(q.device.type, enabled=False)


def _forward_cpu(*arguments: Any) -> tuple[Tensor, Tensor]:
    call = check_attention(*arguments)
    with _in_given_types(call.q):
        return reference.attention(call)


def _forward_cuda(*arguments: Any) -> tuple[Tensor, Tensor]:
    return launch_attention(check_attention(*arguments))


def _forward_fake(*arguments: Any) -> tuple[Tensor, Tensor]:
    call = check_attention(*arguments)
    return empty_like(call.q), empty_lse(call.q)


def _check_fp8(*arguments: Any) -> AttentionArguments:
    call = check_attention(*arguments)
    if call.q.dtype != torch.bfloat16:
        raise TypeError(f"q is {call.q.dtype}: what becomes FP8 is given in torch.bfloat16")
    return call


def _rounded(*values: Tensor) -> list[Tensor]:
    """What FP8 means, in float32."""
    return [restored(*quantise(each)) for each in values]


def _fp8_cpu(*arguments: Any) -> tuple[Tensor, Tensor]:
    call = _check_fp8(*arguments)
    q, k, v = _rounded(call.q, call.k, call.v)
    with _in_given_types(call.q):
        o, lse = reference.attention(replace(call, q=q, k=k, v=v))
    return empty_like(call.q).copy_(o), lse


def _fp8_cuda(*arguments: Any) -> tuple[Tensor, Tensor]:
    return launch_fp8(_check_fp8(*arguments))


def _fp8_fake(*arguments: Any) -> tuple[Tensor, Tensor]:
    _check_fp8(*arguments)
    return _forward_fake(*arguments)


def _backward(
    grad: Tensor, grad_lse: Tensor, o: Tensor, lse: Tensor, *arguments: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """By a kernel where one is loaded, else by PyTorch's batched products."""
    call = check_attention(*arguments)
    kernel = backward_kernel(call)
    if kernel is not None:
        return launch_backward(kernel, call, grad, grad_lse, o, lse)
    with _in_given_types(call.q):
        return reference.gradients(call, grad, grad_lse, o, lse)


def _backward_fake(
    grad: Tensor, grad_lse: Tensor, o: Tensor, lse: Tensor, *arguments: Any
) -> tuple[Tensor, Tensor, Tensor]:
    call = check_attention(*arguments)
    return empty_like(call.q), empty_like(call.k), empty_like(call.v)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*output, *inputs[:TENSORS])
    ctx.rest = inputs[TENSORS:]


def _gradient(ctx: Any, grad: Tensor, grad_lse: Tensor) -> tuple[Tensor | None, ...]:
    return _gradients(ctx, grad, grad_lse, *ctx.saved_tensors)


def _fp8_gradient(ctx: Any, grad: Tensor, grad_lse: Tensor) -> tuple[Tensor | None, ...]:
    o, lse, *tensors = ctx.saved_tensors
    values = [each.to(o.dtype) for each in _rounded(*tensors[:VALUES])]
    return _gradients(ctx, grad, grad_lse, o, lse, *values, *tensors[VALUES:])


def _gradients(ctx: Any, *tensors: Tensor) -> tuple[Tensor | None, ...]:
    by_values = backward(*tensors, *ctx.rest)
    return (*by_values, *[None] * (GIVEN - len(by_values)))


attention = define("block_sparse_attention", FORWARD, _forward_cpu, _forward_fake, _forward_cuda)
backward = define("block_sparse_attention_backward", BACKWARD, _backward, _backward_fake)
in_fp8 = define("block_sparse_attention_fp8", FORWARD, _fp8_cpu, _fp8_fake, _fp8_cuda)
attention.register_autograd(_gradient, setup_context=_remember)
in_fp8.register_autograd(_fp8_gradient, setup_context=_remember)

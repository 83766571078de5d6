"""Checks of ``torch.ops.assay.block_sparse_attention`` with one kernel behind it."""

import math
from collections.abc import Callable
from typing import Any

import torch

from assay.device.kernels.oracles import measure_errors
from assay.device.tasks.attention_problems import (
    WHOLE,
    AttentionProblem,
    dense_attention,
    documents,
    finite,
    masks,
    problem,
)
from assay.device.tasks.operator_checks import SEED, TOLERANCES, OperatorCase, run_checks
from assay.ops import OPERATORS
from assay.ops.checks import NoKernel, NotContiguous, Tensor, WrongIndexType
from assay.shared.counting import counted
from assay.shared.specs import Json

LARGEST_LSE_ERROR = 1e-3
"""Of log-sum-exps, which are float32; exponentials by special function units are good to 2^-22."""
GRADIENT_FACTOR = 2
"""On TOLERANCES: a gradient inherits the rounding of the result as well as its own."""


def _compare(
    case: OperatorCase, name: str, found: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]
) -> float:
    """Return the relative error of the result. Raises AssertionError where it is large, or that of
    the log-sum-exp, or where other rows are empty.
    """
    error = measure_errors(found[0], right[0].float()).relative
    if error is None or error > TOLERANCES[case.kernel.dtype]:
        raise AssertionError(f"{name}: relative error {error}")
    if not torch.equal(found[1] == -math.inf, right[1] == -math.inf):
        raise AssertionError(
            f"{name}: the log-sum-exp is -infinity in other rows than it should be"
        )
    worst = float((finite(found[1]).double() - finite(right[1]).double()).abs().max())
    if not worst <= LARGEST_LSE_ERROR:
        raise AssertionError(f"{name}: the log-sum-exp is wrong by {worst}")
    if bool(found[0][found[1] == -math.inf].any()):
        raise AssertionError(f"{name}: a query without any key has a result")
    return error


def against_dense(case: OperatorCase) -> str:
    """Right for every mask, with keys that none selects unread and its inputs left alone. Raises
    AssertionError.
    """
    said = []
    for name, mask in masks(case):
        p = problem(case, mask)
        right = dense_attention(p)
        unread = ~mask.dense().any(dim=2).any(dim=1).any(dim=0)
        if name == WHOLE:  # elsewhere a block that is read may hold such a key
            p.k[:, :, unread], p.v[:, :, unread] = math.nan, math.nan
        before = [tensor.clone() for tensor in p.values]
        found = case.operator(*p.values, **mask.arguments)
        error = _compare(case, name, found, right)
        for old, new in zip(before, p.values, strict=True):
            if not torch.equal(old.nan_to_num(), new.nan_to_num()):
                raise AssertionError(f"{name}: an input was changed")
        said.append(f"{name} (mask {mask.sha256()[:12]}) {error:.1e}")
    return f"relative error: {'; '.join(said)}"


def refusals(case: OperatorCase) -> str:
    """Wrong arguments end in a sentence of ours. Raises AssertionError."""
    p = problem(case, documents(case, 1))
    lists = p.mask.arguments
    wide = p.k.mT.contiguous().mT
    attempts: list[tuple[type[Exception], list[Tensor], dict[str, Any]]] = [
        (WrongIndexType, [*p.values], {"full_counts": lists["full_counts"].long()}),
        (NotContiguous, [p.q, wide, p.v], {}),
    ]
    if case.device != "cpu":
        attempts.append((NoKernel, [tensor[..., :-8].contiguous() for tensor in p.values], {}))
    for kind, wrong, changes in attempts:
        try:
            case.operator(*wrong, **{**lists, **changes})
        except kind:
            continue
        raise AssertionError(f"nothing was said where {kind.__name__} should have been raised")
    return f"{counted(len(attempts), 'wrong call')}, each refused in a sentence"


def _loss_weights(case: OperatorCase, p: AttentionProblem) -> tuple[Tensor, Tensor]:
    generator = torch.Generator(device=case.device).manual_seed(SEED + 1)
    weights = torch.randn(p.q.shape, generator=generator, device=case.device).to(p.q.dtype)
    return weights, torch.randn(p.q.shape[:3], generator=generator, device=case.device)


def gradient(case: OperatorCase) -> str:
    """As autograd's own in float64 through the whole mask, by way of both results. Raises
    AssertionError.
    """
    worst = 0.0
    for name, mask in masks(case):
        p = problem(case, mask)
        weights = _loss_weights(case, p)
        grads = []
        for wide in (False, True):
            values = p.differentiable()
            if wide:
                values = [tensor.detach().double().requires_grad_() for tensor in values]
                o, lse = dense_attention(p, *values)
            else:
                o, lse = case.operator(*values, **mask.arguments)
            loss = (o * weights[0]).sum() + (finite(lse) * weights[1]).sum()
            grads.append(torch.autograd.grad(loss, values))
        for mine, right in zip(*grads, strict=True):
            error = measure_errors(mine, right.float()).relative
            if error is None or error > GRADIENT_FACTOR * TOLERANCES[case.kernel.dtype]:
                raise AssertionError(f"{name}: a gradient's relative error is {error}")
            worst = max(worst, error)
    return f"relative error {worst:.1e}, recomputed by PyTorch"


def opcheck(case: OperatorCase) -> str:
    """torch.library.opcheck, with a window and with bits. Raises its OpCheckError."""
    results: dict[str, str] = {}
    for name, mask in masks(case):
        if name.startswith(("causal", "documents")):
            values = problem(case, mask).differentiable()
            operator = OPERATORS[case.kernel.operation]
            results |= torch.library.opcheck(operator, tuple(values), mask.arguments)
    return ", ".join(results)


def compiled(case: OperatorCase) -> str:
    """Return one graph with work before and after the operator, as eager. Raises AssertionError."""
    p = problem(case, documents(case, 1))

    def work(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        o, lse = case.operator(q * 0.5, k, v * 2, **p.mask.arguments)
        return torch.relu(o) * 2 + finite(lse)[..., None].to(o.dtype)

    runs = []
    for function in (work, torch.compile(work, fullgraph=True, backend=case.backend)):
        values = p.differentiable()
        output = function(*values)
        output.sum().backward()
        runs.append([output.detach(), *(tensor.grad for tensor in values)])
    for eager, graph in zip(*runs, strict=True):
        error = measure_errors(graph, eager.float()).relative
        if error is None or error > TOLERANCES[case.kernel.dtype]:
            raise AssertionError(f"compiled and eager differ by {error}")
    return f"fullgraph, {case.backend}, forward and backward"


def cuda_graph(case: OperatorCase) -> str:
    """Captured with one problem and replayed with another in the same memory, lists included;
    forward alone, which waits for nothing, and with gradients. Raises AssertionError.
    """
    first, second = (problem(case, documents(case, seed), seed) for seed in (1, 2))
    right = dense_attention(second)
    weights = _loss_weights(case, first)[0]
    worst = 0.0
    for backward in (False, True):
        values = first.differentiable()
        arguments = {
            name: given.clone() if isinstance(given, torch.Tensor) else given
            for name, given in first.mask.arguments.items()
        }

        def work(
            values: list[Tensor] = values, arguments: dict[str, Any] = arguments,
            backward: bool = backward,
        ) -> list[Tensor]:  # fmt: skip
            o, lse = case.operator(*values, **arguments)
            grads = torch.autograd.grad(o, values, weights) if backward else ()
            return [o.detach(), lse.detach(), *grads]

        def change(values: list[Tensor] = values, arguments: dict[str, Any] = arguments) -> None:
            given = zip(values, second.values, strict=True)
            lists = ((arguments[name], new) for name, new in second.mask.arguments.items())
            with torch.no_grad():
                for old, new in (*given, *lists):
                    if isinstance(old, torch.Tensor):
                        old.copy_(new)

        o, lse, *grads = _replayed(case, work, change, waits=backward)
        worst = max(worst, _compare(case, "replayed", (o, lse), right))
        for mine, eager in zip(grads, work()[2:], strict=True):
            error = measure_errors(mine, eager.float()).relative
            if error is None or error > TOLERANCES[case.kernel.dtype]:
                raise AssertionError(f"replayed and eager gradients differ by {error}")
    how = "captured and replayed" if case.device != "cpu" else "called again (a CPU has no graphs)"
    return f"{how} with other values, lists and bits: relative error {worst:.1e}"


def _replayed(
    case: OperatorCase, work: Callable[[], list[Tensor]], change: Callable[[], None], waits: bool
) -> list[Tensor]:
    """Return what ``work`` leaves in its outputs when it is replayed after ``change``.

    Raises RuntimeError where it ``waits`` for the GPU though it should not.
    """
    if case.device == "cpu":
        work()
        change()
        return work()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()  # libraries are opened, and what is allocated once is
        torch.cuda.set_sync_debug_mode("default" if waits else "error")
        try:
            work()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = work()
    change()
    graph.replay()
    torch.cuda.synchronize()
    return captured


CHECKS: dict[str, Callable[[OperatorCase], str]] = {
    "oracle": against_dense,
    "refusals": refusals,
    "gradient": gradient,
    "opcheck": opcheck,
    "torch_compile": compiled,
    "cuda_graph": cuda_graph,
}


def try_attention(case: OperatorCase) -> list[Json]:
    """Return every check of attention, as OperatorCheck records."""
    return run_checks(case, CHECKS)

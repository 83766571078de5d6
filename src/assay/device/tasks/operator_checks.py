"""Checks of one PyTorch operator with one kernel behind it, on small shapes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from assay.device.kernels.inputs import bits
from assay.device.kernels.oracles import measure_errors
from assay.device.tasks.operator_problems import (
    SEED,
    OperatorCall,
    OperatorCase,
    attention,
    documents,
    finite,
    is_value,
)
from assay.ops import OPERATORS
from assay.ops.checks import Tensor
from assay.shared.counting import counted
from assay.shared.specs import Json

LARGEST_LSE_ERROR = 1e-3
"""Of log-sum-exps, which are float32; exponentials by special function units are good to 2^-22."""
GRADIENT_FACTOR = 2
"""On tolerances: a gradient inherits the rounding of the result as well as its own."""
FP8_TESTS = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
"""All of opcheck's but test_schema, for which PyTorch would have to compare FP8 tensors."""


def results(
    case: OperatorCase, call: OperatorCall, values: Sequence[Any] | None = None
) -> Sequence[Tensor]:
    """Return what the operator gives: a product alone, attention with its log-sum-exp."""
    found = case.operator(*(call.values if values is None else values), **call.named)
    return found if case.attends else (found,)


def _near(what: str, found: Tensor, right: Tensor, limit: float) -> float:
    """Return the relative error. Raises AssertionError where it is above ``limit``."""
    error = measure_errors(found, right.float()).relative if right.numel() else 0.0
    if error is None or error > limit:
        raise AssertionError(f"{what}: relative error {error}, not below {limit:g}")
    return error


def _compare(
    case: OperatorCase, name: str, found: Sequence[Tensor], right: Sequence[Tensor]
) -> float:
    """Return the relative error of the result. Raises AssertionError where it is large, or that of
    the log-sum-exp, or where other rows are empty.
    """
    error = _near(name, found[0], right[0], case.tolerance)
    if not case.attends:
        return error
    empty = found[1] == -math.inf
    if not torch.equal(empty, right[1] == -math.inf):
        raise AssertionError(
            f"{name}: the log-sum-exp is -infinity in other rows than it should be"
        )
    worst = float((finite(found[1]).double() - finite(right[1]).double()).abs().max())
    if not worst <= LARGEST_LSE_ERROR:
        raise AssertionError(f"{name}: the log-sum-exp is wrong by {worst}")
    if bool(found[0][empty].any()):
        raise AssertionError(f"{name}: a query without any key has a result")
    return error


def against_oracle(case: OperatorCase) -> str:
    """Right for every pattern or mask, with what none selects unread and its inputs left alone.
    Raises AssertionError.
    """
    said = []
    for call in case.calls():
        right = call.right
        if call.unread is not None:
            for tensor in call.values[1:]:
                tensor[:, :, call.unread] = math.nan
        tensors = [each for each in call.values if isinstance(each, torch.Tensor)]
        before = [each.clone() for each in tensors]
        error = _compare(case, call.name, results(case, call), right)
        if not all(map(torch.equal, map(bits, before), map(bits, tensors))):
            raise AssertionError(f"{call.name}: an input was changed")
        said.append(f"{call.name} {error:.1e}")
    return f"relative error: {'; '.join(said)}"


def refusals(case: OperatorCase) -> str:
    """Wrong arguments end in a sentence of ours. Raises AssertionError."""
    attempts = list(case.wrong())
    for kind, wrong in attempts:
        try:
            results(case, wrong)
        except kind:
            continue
        raise AssertionError(f"nothing was said where {kind.__name__} should have been raised")
    return f"{counted(len(attempts), 'wrong call')}, each refused in a sentence"


def gradient(case: OperatorCase) -> str:
    """As autograd's own in float64 through dense matrices, by way of every result. Raises
    AssertionError.
    """
    worst = 0.0
    for call in case.calls() if case.attends else [case.typical()]:
        generator = torch.Generator(device=case.device).manual_seed(SEED + 1)
        grads, weights = [], list[Tensor]()
        for wide in (False, True):
            values = call.differentiable(wide)
            found = call.reference(*values) if wide else results(case, call, values)
            weights = weights or [
                torch.randn(each.shape, generator=generator, device=case.device).to(each.dtype)
                for each in found
            ]
            parts = ((finite(f) * w).sum() for f, w in zip(found, weights, strict=True))
            grads.append(torch.autograd.grad(sum(parts), list(filter(is_value, values))))
        for mine, right in zip(*grads, strict=True):
            limit = GRADIENT_FACTOR * case.tolerance
            worst = max(worst, _near(f"{call.name}: a gradient", mine, right, limit))
    return f"relative error {worst:.1e}"


def opcheck(case: OperatorCase) -> str:
    """torch.library.opcheck; of attention with a window and with bits. Raises its OpCheckError."""
    named: dict[str, Any] = {} if case.has_gradient else {"test_utils": FP8_TESTS}
    chosen = [case.typical()]
    if case.attends:
        chosen = [call for call in case.calls() if call.name.startswith(("causal", "documents"))]
    done: dict[str, str] = {}
    for call in chosen:
        values = call.differentiable() if case.has_gradient else call.values
        operator = OPERATORS[case.kernel.operation]
        done |= torch.library.opcheck(operator, tuple(values), call.named, **named)
    left_out = "" if case.has_gradient else " (PyTorch cannot compare FP8 tensors in test_schema)"
    return ", ".join(done) + left_out


def compiled(case: OperatorCase) -> str:
    """Return one graph with work before and after the operator, as eager. Raises AssertionError."""
    call = case.typical()

    def work(*values: Any) -> Tensor:
        if case.has_gradient:  # FP8 tensors cannot be scaled
            values = tuple(v * 0.5 if is_value(v) else v for v in values)
        first, *rest = results(case, call, values)
        return sum((finite(each)[..., None] for each in rest), torch.relu(first) * 2)

    runs = []
    for function in (work, torch.compile(work, fullgraph=True, backend=case.backend)):
        values = call.differentiable() if case.has_gradient else list(call.values)
        output = function(*values)
        if case.has_gradient:
            output.sum().backward()
        grads = [v.grad for v in values if is_value(v) and v.grad is not None]
        runs.append([output.detach(), *grads])
    for eager, graph in zip(*runs, strict=True):
        _near("compiled and eager", graph, eager, case.tolerance)
    what = "forward and backward" if case.has_gradient else "forward"
    return f"fullgraph, {case.backend}, {what}"


def cuda_graph(case: OperatorCase) -> str:
    """Captured with one problem and replayed with another in the same memory, lists included;
    forward alone, which waits for nothing, and with gradients. Raises AssertionError.
    """
    first, second = (attention(case, "replayed", documents(case, seed), seed) for seed in (1, 2))
    right = second.right
    weights = torch.ones_like(first.values[0])
    worst = 0.0
    for backward in (False, True):
        values = first.differentiable()
        named = {
            name: given.clone() if isinstance(given, torch.Tensor) else given
            for name, given in first.named.items()
        }

        def work(
            values: list[Tensor] = values, named: dict[str, Any] = named, backward: bool = backward
        ) -> list[Tensor]:
            o, lse = case.operator(*values, **named)
            grads = torch.autograd.grad(o, values, weights) if backward else ()
            return [o.detach(), lse.detach(), *grads]

        def change(values: list[Tensor] = values, named: dict[str, Any] = named) -> None:
            given = zip(values, second.values, strict=True)
            lists = ((named[name], new) for name, new in second.named.items())
            with torch.no_grad():
                for old, new in (*given, *lists):
                    if isinstance(old, torch.Tensor):
                        old.copy_(new)

        o, lse, *grads = _replayed(case, work, change, waits=backward)
        worst = max(worst, _compare(case, "replayed", (o, lse), right))
        for mine, eager in zip(grads, work()[2:], strict=True):
            _near("replayed and eager gradients", mine, eager, case.tolerance)
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
    "oracle": against_oracle,
    "refusals": refusals,
    "gradient": gradient,
    "opcheck": opcheck,
    "torch_compile": compiled,
    "cuda_graph": cuda_graph,
}


def try_operator(case: OperatorCase) -> list[Json]:
    """Return an OperatorCheck record for each check. An unexpected error is a failed check."""
    left_out = set() if case.has_gradient else {"gradient"}
    left_out |= set() if case.attends else {"cuda_graph"}
    done = []
    for name in (name for name in CHECKS if name not in left_out):
        passed, detail = True, ""
        try:
            detail = CHECKS[name](case)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            passed, detail = False, f"{type(error).__name__}: {lines[0]}"
        done.append({"name": name, "passed": passed, "detail": detail})
    return done

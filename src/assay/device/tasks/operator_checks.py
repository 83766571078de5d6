"""Checks of one PyTorch operator with one kernel behind it, on small shapes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from assay.device.kernels.inputs import Inputs, make_inputs
from assay.device.kernels.oracles import measure_errors, oracle
from assay.ops import OPERATORS, Kernel, reference
from assay.ops.checks import NoKernel, NotContiguous, Tensor, WrongIndexType
from assay.shared.counting import counted
from assay.shared.specs import Json, PatternSpec, WorkloadSpec
from assay.shared.stored_blocks import Blocks, ragged_blocks

GRID = (6, 5)
"""Block rows and columns of A: a row of every length from none to full, where rows are ragged."""
N = 256
"""Columns of a dense B."""
SEED = 1
TOLERANCES = {"float16": 1e-3, "bfloat16": 5e-3, "float8_e4m3": 1e-2}
"""Relative: an output is rounded once, to 11 or 8 bits; FP8 tensor cores sum with fewer bits."""
FP8_TESTS = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
"""All of opcheck's but test_schema, for which PyTorch would have to compare FP8 tensors."""


@dataclass(frozen=True)
class OperatorCase:
    """An operator, the kernel behind it, and where it runs."""

    kernel: Kernel
    device: str
    backend: str
    """Of torch.compile."""

    @property
    def operator(self) -> Any:
        """As a user calls it."""
        return getattr(torch.ops.assay, self.kernel.operation)

    @property
    def has_gradient(self) -> bool:
        """Return whether there is a gradient: all but FP8 products have one."""
        return self.kernel.dtype != "float8_e4m3"


def workload(kernel: Kernel) -> WorkloadSpec:
    """Return a small problem for a kernel."""
    (rows, cols), (bm, bk) = GRID, kernel.block
    bn = kernel.block_b[1] if kernel.block_b else None
    return WorkloadSpec(
        id=kernel.id,
        operation=kernel.operation,
        dtype=kernel.dtype,
        distribution="normal",
        seed=SEED,
        relative_tolerance=TOLERANCES[kernel.dtype],
        m=rows * bm,
        n=N if bn is None else 3 * bn,
        k=cols * bk,
        pattern=PatternSpec("random", bm, bk, 2),
        pattern_b=None if bn is None else PatternSpec("random", bk, bn, 2),
    )


def layouts(w: WorkloadSpec) -> Iterator[tuple[str, tuple[Blocks | None, Blocks | None] | None]]:
    """Yield names and stored blocks: rows of one length, of every length, and none stored at
    all.
    """
    assert w.pattern is not None
    yield "regular", None
    ragged = ragged_blocks(w.pattern, *GRID, SEED)
    empty = Blocks(
        *GRID, w.pattern.block_rows, w.pattern.block_cols, ragged.row_ptr * 0, ragged.col_idx[:0]
    )
    other = None
    if w.pattern_b is not None:
        other = ragged_blocks(w.pattern_b, GRID[1], w.n // w.pattern_b.block_cols, SEED + 1)
    yield "ragged, with an empty row", (ragged, other)
    yield "nothing stored", (empty, other)


def arguments(inputs: Inputs) -> list[Any]:
    """Return the operator's, in order."""
    t = inputs.tensors
    first = [t["a_values"], t["a_row_ptr"], t["a_col_idx"]]
    if inputs.workload.operation == "bsr_gemm":
        return [*first, t["b"]]
    return [*first, t["b_values"], t["b_row_ptr"], t["b_col_idx"], inputs.workload.n]


def _ragged(case: OperatorCase) -> list[Any]:
    w = workload(case.kernel)
    layout = next(blocks for name, blocks in layouts(w) if name.startswith("ragged"))
    return arguments(make_inputs(w, case.device, SEED, layout))


def _differentiable(case: OperatorCase, values: list[Any]) -> list[Any]:
    """Return the same arguments, of which the values ask for gradients where there are any."""
    return [
        v.detach().clone().requires_grad_()
        if case.has_gradient and isinstance(v, torch.Tensor) and v.dtype.is_floating_point
        else v
        for v in values
    ]


def against_oracle(case: OperatorCase) -> str:
    """Right for every layout, with its inputs left alone. Raises AssertionError."""
    said = []
    for name, layout in layouts(workload(case.kernel)):
        inputs = make_inputs(workload(case.kernel), case.device, SEED, layout)
        before = inputs.snapshot()
        output = case.operator(*arguments(inputs))
        if changed := inputs.changed_since(before):
            raise AssertionError(f"{name}: changed {', '.join(changed)}")
        errors = measure_errors(output, oracle(inputs))
        if not errors.within(inputs.workload):
            limit = inputs.workload.relative_tolerance
            raise AssertionError(f"{name}: relative error {errors.relative}, not below {limit:g}")
        said.append(f"{name} {errors.relative:.1e}")
    return f"relative error: {'; '.join(said)}"


def refusals(case: OperatorCase) -> str:
    """Wrong arguments end in a sentence of ours. Raises AssertionError."""
    good = _ragged(case)
    # An index of the wrong type, a matrix that is not contiguous, and blocks no kernel is for.
    values = good[0]
    attempts: list[tuple[type[Exception], list[Any]]] = [
        (WrongIndexType, [values, good[1], good[2].long(), *good[3:]]),
        (NotContiguous, [values.transpose(1, 2), *good[1:]]),
    ]
    if case.device != "cpu":
        narrow = [values[:, :24].contiguous(), *good[1:]]
        attempts.append((NoKernel, narrow))
    for kind, wrong in attempts:
        try:
            case.operator(*wrong)
        except kind:
            continue
        raise AssertionError(f"nothing was said where {kind.__name__} should have been raised")
    return f"{counted(len(attempts), 'wrong call')}, each refused in a sentence"


def gradient(case: OperatorCase) -> str:
    """As autograd's own in float64, by way of dense matrices. Raises AssertionError."""
    mine = _differentiable(case, _ragged(case))
    output = case.operator(*mine)
    weights = torch.randn(output.shape, device=case.device).to(output.dtype)
    output.backward(weights)
    theirs = [
        v.detach().double().requires_grad_() if getattr(v, "requires_grad", False) else v
        for v in mine
    ]
    _dense_product(case.kernel.operation, theirs).backward(weights.double())
    worst = 0.0
    for left, right in zip(mine, theirs, strict=True):
        if getattr(left, "requires_grad", False):
            error = measure_errors(left.grad, right.grad.float()).relative
            if error is None or error > 2 * TOLERANCES[case.kernel.dtype]:
                raise AssertionError(f"a gradient's relative error is {error}")
            worst = max(worst, error)
    return f"relative error {worst:.1e}"


def _dense_product(operation: str, values: list[Any]) -> Tensor:
    """Return the operator's result from dense matrices, for autograd to follow."""
    a_values, a_row_ptr, a_col_idx, b, *rest = values
    if operation == "bsr_bsr_gemm":
        row_ptr, col_idx, n = rest
        k = (row_ptr.shape[0] - 1) * b.shape[1]
        b = reference.densify(b, row_ptr, col_idx, n)
    else:
        k = b.shape[0]
    return reference.densify(a_values, a_row_ptr, a_col_idx, k) @ b


def opcheck(case: OperatorCase) -> str:
    """torch.library.opcheck. Raises its OpCheckError."""
    tests = {} if case.has_gradient else {"test_utils": FP8_TESTS}
    values = _differentiable(case, _ragged(case))
    results = torch.library.opcheck(OPERATORS[case.kernel.operation], tuple(values), **tests)
    left_out = "" if case.has_gradient else " (PyTorch cannot compare FP8 tensors in test_schema)"
    return ", ".join(results) + left_out


def compiled(case: OperatorCase) -> str:
    """Return one graph with work before and after the operator, as eager. Raises AssertionError."""
    values = _ragged(case)

    def work(*operands: Any) -> Tensor:
        scaled = list(operands)
        if case.has_gradient:  # FP8 tensors cannot be scaled
            scaled[0], scaled[3] = scaled[0] * 0.5, scaled[3] * 2
        return torch.relu(case.operator(*scaled)) * 2

    runs = []
    function = torch.compile(work, fullgraph=True, backend=case.backend)
    for run in (work, function):
        operands = _differentiable(case, values)
        output = run(*operands)
        if case.has_gradient:
            output.sum().backward()
        grads = [v.grad for v in operands if getattr(v, "requires_grad", False)]
        runs.append([output.detach(), *grads])
    for eager, graph in zip(*runs, strict=True):
        error = measure_errors(graph, eager.float()).relative
        if error is None or error > TOLERANCES[case.kernel.dtype]:
            raise AssertionError(f"compiled and eager differ by {error}")
    what = "forward and backward" if case.has_gradient else "forward"
    return f"fullgraph, {case.backend}, {what}"


CHECKS: dict[str, Callable[[OperatorCase], str]] = {
    "oracle": against_oracle,
    "refusals": refusals,
    "gradient": gradient,
    "opcheck": opcheck,
    "torch_compile": compiled,
}


def try_operator(case: OperatorCase) -> list[Json]:
    """Return every check of a product, as OperatorCheck records."""
    left_out = set() if case.has_gradient else {"gradient"}
    return run_checks(case, {name: CHECKS[name] for name in CHECKS if name not in left_out})


def run_checks(case: OperatorCase, checks: dict[str, Callable[[OperatorCase], str]]) -> list[Json]:
    """Return an OperatorCheck record for each check. An unexpected error is a failed check."""
    results = []
    for name, check in checks.items():
        passed, detail = True, ""
        try:
            detail = check(case)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            passed, detail = False, f"{type(error).__name__}: {lines[0]}"
        results.append({"name": name, "passed": passed, "detail": detail})
    return results

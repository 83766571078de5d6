"""PyTorch's operators on the GPU, each kernel behind them in turn: ``{"task": "operators"}``."""

import time
from collections.abc import Sequence

import torch

from assay.device.tasks.operator_checks import try_operator
from assay.device.tasks.operator_problems import OperatorCase
from assay.device.worker.cuda import DEVICE, open_cuda
from assay.device.worker.forks import Note, run_child
from assay.device.worker.locks import OpenGpu
from assay.device.worker.messages import progress, utc_now
from assay.device.worker.telemetry import Choice
from assay.ops import KernelSet, only
from assay.shared.job import OperatorsJob
from assay.shared.kernel_choice import Kernel
from assay.shared.specs import Json

BUDGET_S = 270.0
"""Of all processes together."""
DEADLINE_S = 120.0
"""A child that is not done by then hangs: Inductor's first compilation takes some seconds."""
INDUCTOR, TRACED = "inductor", "aot_eager"
"""An operator is opaque to Inductor, so once an operator is enough; all others are only traced."""


def cases(kernels: Sequence[Kernel], device: str) -> list[OperatorCase]:
    """Return a case a kernel; the first of each operator goes through Inductor."""
    found: list[OperatorCase] = []
    seen: set[str] = set()
    for kernel in kernels:
        backend = TRACED if kernel.operation in seen else INDUCTOR
        seen.add(kernel.operation)
        found.append(OperatorCase(kernel, device, backend))
    return found


def _try(case: OperatorCase, target: str, note: Note) -> Json:
    """Return the outcome of one case, but for its seconds. Raises where the GPU is of no more
    use.
    """
    note(case.kernel.id)
    torch._dynamo.reset()
    with only(KernelSet(target, (case.kernel,))):
        checks = try_operator(case)
    if case.device != "cpu":
        torch.cuda.synchronize()
    failed = [check["name"] for check in checks if not check["passed"]]
    return {
        "status": "wrong" if failed else "passed",
        "detail": f"failed: {', '.join(failed)}" if failed else "",
        "checks": checks,
    }


def _together(chosen: Sequence[OperatorCase], target: str, note: Note) -> list[Json]:
    """Several cases in one process."""
    outcomes = []
    for number, case in enumerate(chosen, start=1):
        began = time.monotonic()
        outcome = _try(case, target, note)
        outcomes.append({**outcome, "seconds": round(time.monotonic() - began, 3)})
        what = f"torch.ops.assay.{case.kernel.operation} by {case.kernel.id}"
        progress(number, len(chosen), f"{what}: {outcome['status']} {outcome['detail']}".rstrip())
    return outcomes


def _in_child(
    chosen: Sequence[OperatorCase], target: str, choice: Choice, end: float
) -> list[Json] | Json:
    """Outcomes of cases from one fresh process; the one outcome of all where it died.

    ``end``: the monotonic time by which it is stopped.
    """

    def work(note: Note) -> Json:
        if chosen[0].device != "cpu":
            open_cuda(choice)
        return {"outcomes": _together(chosen, target, note)}

    child = run_child(work, max(0.0, min(DEADLINE_S, end - time.monotonic())))
    if child.value is not None:
        outcomes: list[Json] = child.value["outcomes"]
        return outcomes
    detail = f"{child.error} ({child.note})" if child.note else str(child.error)
    return {"status": "failed", "detail": detail, "checks": [], "seconds": round(child.seconds, 3)}


def run_operators(job: OperatorsJob, gpu: OpenGpu, device: str = DEVICE) -> Json:
    """Return the OperatorsRecord. Kernels share a process; where it dies, each gets one of its
    own.
    """
    began = time.monotonic()
    chosen = cases(job.kernels, device)
    end = began + BUDGET_S
    outcomes = _in_child(chosen, job.target.id, gpu.choice, end) if chosen else []
    if not isinstance(outcomes, list):
        alone = [_in_child([case], job.target.id, gpu.choice, end) for case in chosen]
        outcomes = [found[0] if isinstance(found, list) else found for found in alone]
    return {
        "schema": "assay/operators/1",
        "target": job.target.id,
        "gpu_uuid": gpu.choice.uuid,
        "recorded_at": utc_now(),
        "torch": torch.__version__,
        "operators": [
            {
                "operator": case.kernel.operation,
                "variant": case.kernel.id,
                "dtype": case.kernel.dtype,
                "binary_sha256": case.kernel.sha256,
                **outcome,
            }
            for case, outcome in zip(chosen, outcomes, strict=True)
        ],
        "seconds": round(time.monotonic() - began, 3),
    }

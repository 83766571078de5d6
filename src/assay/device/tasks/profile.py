"""One launch between cudaProfilerStart and Stop, for a profiler that waits outside.

No fork here: the profiler follows this process, in which the arms of a batch run one after the
other. A tiny kernel goes ahead of each arm's own, so that a list of all profiled kernels can be cut
into arms. Whatever time the profiler measures is never judged.
"""

import torch

from assay.device.kernels.bindings import prepare_arm
from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.worker.cuda import DEVICE, open_cuda
from assay.device.worker.locks import OpenGpu
from assay.shared.errors import DeviceError, Unsupported
from assay.shared.job import ProfileJob
from assay.shared.specs import Json

WARM_LAUNCHES = 3
"""Enough to compile, load and choose algorithms; the profiler replays the launch by itself."""


def mark() -> None:
    """Launch the kernel that stands before each arm's; no arm launches one of its name."""
    torch.cuda._sleep(1)


def run_profile(job: ProfileJob, gpu: OpenGpu) -> Json:
    """Launch one arm under the profiler: {"ok", "detail"}, once the mark was launched.

    Raises DeviceError when the arm can't run and nothing was profiled.
    """
    arm = next(arm for arm in job.comparison.arms if arm.id == job.arm)
    open_cuda(gpu.choice)
    try:
        # The profiler saves and restores memory round each replay: also what an earlier arm left.
        torch.cuda.empty_cache()
        prepared = prepare_arm(arm, make_inputs(arm.workload, DEVICE, arm.workload.seed))
        for _ in range(WARM_LAUNCHES):
            prepared.launch()
        torch.cuda.synchronize()
    except (Unsupported, RuntimeError) as error:
        raise DeviceError(f"arm '{arm.id}' cannot be profiled: {error}") from error
    torch.cuda.profiler.start()
    mark()
    try:
        prepared.launch()
        torch.cuda.synchronize()
    except RuntimeError as error:
        return {"ok": False, "detail": f"arm '{arm.id}' cannot be profiled: {error}"}
    finally:
        torch.cuda.profiler.stop()
    return {"ok": True, "detail": ""}

"""One launch between cudaProfilerStart and Stop, for a profiler that waits outside.

No fork here: the profiler follows this process. Whatever time it measures is never judged.
"""

import torch

from assay.device.arms import prepare_arm
from assay.device.cuda import DEVICE, open_cuda
from assay.device.errors import BadJob, DeviceError, Unsupported
from assay.device.inputs import make_inputs
from assay.device.jobs import Comparison, Json
from assay.device.telemetry import Choice

WARM_LAUNCHES = 3
"""Enough to compile, load and choose algorithms; the profiler replays the launch by itself."""


def run_profile(comparison: Comparison, arm_id: str, choice: Choice) -> Json:
    """Launch one arm under the profiler. Raises DeviceError when it can't run."""
    arm = next((arm for arm in comparison.arms if arm.id == arm_id), None)
    if arm is None:
        raise BadJob(f"comparison '{comparison.id}' has no arm '{arm_id}'")
    open_cuda(choice)
    try:
        prepared = prepare_arm(arm, make_inputs(arm.workload, DEVICE, arm.workload.seed))
        for _ in range(WARM_LAUNCHES):
            prepared.launch()
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        prepared.launch()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
    except (Unsupported, RuntimeError) as error:
        raise DeviceError(f"arm '{arm_id}' cannot be profiled: {error}") from error
    return {"ok": True}

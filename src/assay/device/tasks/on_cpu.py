"""``python -m assay.device.tasks.on_cpu JOB.json ...``: call a project's functions on a CPU.

Takes the gate's jobs and writes, for each, {"arms": [{"arm", "status", "detail"}]}. No GPU is
looked for. The statuses are the gate's, and ``elsewhere`` for an arm that needs what is not here.
Exit codes: 0 whatever was found; 2 a job is malformed; 3 this Python lacks PyTorch.
"""

import dataclasses
import importlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from assay.device.tasks.gate_shapes import small_shapes
from assay.device.worker.forks import Note, prepare_environment, run_child
from assay.shared.errors import DeviceError, NoDevice
from assay.shared.files import write_json
from assay.shared.job import CorrectnessJob
from assay.shared.job_file import read_job
from assay.shared.specs import ArmSpec, Json

DEADLINE_S = 60.0
"""A function that has not ended by then is meant for a GPU, or for a smaller size."""


def try_arm(arm: ArmSpec, seeds: Sequence[int], note: Note) -> Json:
    """Return what the gate says of an arm at its small size; of a compiled one, of its inputs."""
    from assay.device.kernels.bindings import prepare_arm  # noqa: PLC0415
    from assay.device.kernels.inputs import make_inputs  # noqa: PLC0415 - it imports PyTorch
    from assay.device.kernels.project_code import LibraryFailed  # noqa: PLC0415
    from assay.device.tasks.correctness import check_arm  # noqa: PLC0415

    small = next((shape for _, shape, _ in small_shapes(arm.workload)), arm.workload)
    arm = dataclasses.replace(arm, workload=small)
    try:
        if arm.variant.kind != "kernel":
            return check_arm(arm, seeds, "cpu", prepare_arm, note)
        inputs = make_inputs(small, "cpu", seeds[0])
        inputs.project_case.right(inputs.tensors)
        inputs.project_case.new_output(inputs.tensors, inputs.dtype)
    except LibraryFailed as error:
        return {"status": "elsewhere", "detail": str(error)}
    left = [name for name in arm.variant.operands if name not in inputs.tensors]
    says = f"inputs of {inputs.project_case.name} returned no tensor '{left[0]}'" if left else ""
    return {"status": "failed" if left else "correct", "detail": says}


def try_job(job: CorrectnessJob) -> list[Json]:
    """Return what became of each arm, in a process of its own."""
    found = []
    for arm in job.comparison.arms:
        outcome = run_child(partial(try_arm, arm, job.seeds[:1]), DEADLINE_S)
        value = outcome.value or {"status": "failed", "detail": outcome.error}
        found.append({"arm": arm.id, "status": value["status"], "detail": value["detail"]})
    return found


def main(arguments: list[str]) -> int:
    """Entry point; returns the exit code."""
    try:
        batch = [read_job(Path(argument)) for argument in arguments]
        prepare_environment()
        try:
            importlib.import_module("torch")
        except ImportError as error:
            raise NoDevice(f"this Python ({sys.executable}) lacks PyTorch ({error})") from error
        for queued in batch:
            assert isinstance(queued.job, CorrectnessJob)
            write_json({"arms": try_job(queued.job)}, queued.output)
    except DeviceError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The GPU of a job: the target's, whole, alone, or the job ends with its reason."""

import os
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.measuring.held_gpu import held_gpu, memory_limit
from assay.shared.files import write_bytes
from tests import builders as b
from tests.pipeline.stand_in import write_program

TARGET = b.target()
H100 = "0, GPU-aa, 580.65.06, Disabled, NVIDIA H100 80GB HBM3"
OTHER = "1, GPU-bb, 580.65.06, Disabled, NVIDIA H100 80GB HBM3"
L4 = "0, GPU-cc, 580.65.06, [N/A], NVIDIA L4"


class Driver:
    """A ``nvidia-smi`` that lists GPUs, and processes on them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.program = folder, folder / "nvidia-smi"
        answers = f"--query-gpu=*) cat {folder}/gpus;; *) cat {folder}/processes;;"
        write_program(self.program, f'#!/bin/sh\ncase "$1" in {answers} esac\n')
        self.has(H100)

    def has(self, *gpus: str, processes: str = "") -> None:
        (self.folder / "gpus").write_text("\n".join(gpus) + "\n")
        (self.folder / "processes").write_text(processes)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Driver(tmp_path)


def look(visible: str | None = "0", **variables: str) -> str:
    environ = variables if visible is None else {"CUDA_VISIBLE_DEVICES": visible, **variables}
    return held_gpu(TARGET, environ, sleep=lambda _: None)


def test_one_whole_gpu_of_the_target_is_held(driver: Driver) -> None:
    driver.has(H100, OTHER)
    assert look("1") == "GPU-bb"
    assert look("GPU-aa") == "GPU-aa"


def test_a_running_mps_daemon_shares_it(driver: Driver, tmp_path: Path) -> None:
    driver.has(H100)
    pid = tmp_path / "nvidia-cuda-mps-control.pid"
    pid.write_text(str(os.getpid()))
    variables = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)}
    with pytest.raises(CheckFailed, match="its daemon runs"):
        held_gpu(TARGET, variables)
    pid.write_text("999999999")
    assert held_gpu(TARGET, variables) == "GPU-aa"


@pytest.mark.parametrize(
    ("gpus", "visible", "variables", "says"),
    [
        ([L4], "0", {}, "the GPU of this job is NVIDIA L4, but target h100 is"),
        ([H100.replace("Disabled", "Enabled")], "0", {}, "is cut into MIG slices"),
        ([H100], "0", {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"}, "is shared through MPS"),
        ([H100, OTHER], "0,1", {}, "sees 2 GPUs"),
        ([H100, OTHER], None, {}, "sees 2 GPUs"),
        ([H100], "MIG-1234", {}, "sees 0 GPUs"),
        ([H100], "", {}, "sees 0 GPUs"),
    ],
)
def test_any_other_is_refused(driver, gpus, visible, variables, says):
    driver.has(*gpus)
    with pytest.raises(CheckFailed, match=says):
        look(visible, **variables)


def test_processes_that_stay_on_it_end_the_job(driver: Driver) -> None:
    driver.has(H100, OTHER, processes="GPU-aa, 4711\nGPU-bb, 4712\n")
    with pytest.raises(CheckFailed, match=r"\(GPU-aa\) is shared: 1 other process on it"):
        look()
    driver.has(H100, OTHER, processes="GPU-bb, 4712\n")
    assert look() == "GPU-aa"


def test_a_driver_that_is_lost_is_no_refusal(driver: Driver) -> None:
    driver.program.write_text("#!/bin/sh\necho 'GPU has fallen off the bus'; exit 15\n")
    with pytest.raises(MissingEnvironment, match="does not answer: GPU has fallen off"):
        look()
    driver.program.unlink()
    with pytest.raises(MissingEnvironment, match="driver of this node does not answer"):
        look()


V1, V2 = "9:cpuset:/\n4:memory:/slurm/uid_1/job_7\n0::/\n", "0::/slurm/job_7/step_0\n"


def limits(root: Path, groups: str, files: dict[str, str]) -> int | None:
    write_bytes(root / "proc/self/cgroup", groups.encode())
    for name, text in files.items():
        write_bytes(root / "sys/fs/cgroup" / name, text.encode())
    return memory_limit(root)


@pytest.mark.parametrize(
    ("groups", "files", "memory"),
    [
        (V2, {"slurm/job_7/step_0/memory.max": "max\n", "slurm/job_7/memory.max": "800\n"}, 800),
        (V2, {"slurm/job_7/step_0/memory.max": "700", "slurm/memory.max": "900"}, 700),
        (V2, {"slurm/job_7/memory.max": "max\n"}, None),
        (V1, {"memory/slurm/uid_1/job_7/memory.limit_in_bytes": "600\n"}, 600),
        (V1, {"memory/slurm/uid_1/job_7/memory.limit_in_bytes": "9223372036854771712"}, None),
        (V2, {}, None),
    ],
)
def test_the_narrowest_group_decides(tmp_path, groups, files, memory):
    assert limits(tmp_path, groups, files) == memory

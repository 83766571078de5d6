"""The GPU of a job: the target's, whole, alone, or the job ends with its reason."""

import os
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.catalog.load import load_catalog
from assay.measuring.held_gpu import held_gpu
from assay.measuring.slurm_grant import GpuRefused
from assay.records.slurm_jobs import HeldGpu
from assay.records.targets import Target
from tests.report_fixtures import write_repository

H100 = "0, GPU-aa, 580.65.06, Disabled, NVIDIA H100 80GB HBM3"
OTHER = "1, GPU-bb, 580.65.06, Disabled, NVIDIA H100 80GB HBM3"
L4 = "0, GPU-cc, 580.65.06, [N/A], NVIDIA L4"


class Driver:
    """A ``nvidia-smi`` that lists GPUs, and processes on them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.program = folder, folder / "nvidia-smi"
        self.program.write_text(
            "#!/bin/sh\n"
            f'case "$1" in --query-gpu=*) cat {folder}/gpus;; *) cat {folder}/processes;; esac\n'
        )
        self.program.chmod(0o755)
        self.has(H100)

    def has(self, *gpus: str, processes: str = "") -> None:
        (self.folder / "gpus").write_text("\n".join(gpus) + "\n")
        (self.folder / "processes").write_text(processes)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Driver(tmp_path)


@pytest.fixture
def h100(tmp_path: Path) -> Target:
    return load_catalog(write_repository(tmp_path / "repository")).targets["h100"]


def look(target: Target, visible: str | None = "0", **variables: str) -> HeldGpu:
    environ = variables if visible is None else {"CUDA_VISIBLE_DEVICES": visible, **variables}
    return held_gpu(target, environ, None, sleep=lambda _: None)


def test_one_whole_gpu_of_the_target_is_held(driver: Driver, h100: Target) -> None:
    driver.has(H100, OTHER)
    held = look(h100, "1")
    assert (held.index, held.uuid, held.driver) == (1, "GPU-bb", "580.65.06")
    assert look(h100, "GPU-aa").uuid == "GPU-aa"


def test_its_index_is_slurms_where_the_job_sees_its_own_gpu_only(
    driver: Driver, h100: Target
) -> None:
    assert held_gpu(h100, {"CUDA_VISIBLE_DEVICES": "0"}, 6).index == 6


@pytest.mark.parametrize(
    ("gpus", "visible", "variables", "says"),
    [
        ([L4], "0", {}, "the GPU of this job is NVIDIA L4, but target h100 is"),
        ([H100.replace("Disabled", "Enabled")], "0", {}, "is cut into MIG slices"),
        ([H100], "MIG-1234", {}, "was given a MIG slice"),
        ([H100], "0", {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"}, "is shared through MPS"),
        ([H100, OTHER], "0,1", {}, "was given 2 GPUs, not one"),
        ([H100, OTHER], None, {}, "sees 2 GPUs, and nothing says which"),
        ([H100], "3", {}, "was given GPU 3, which the driver does not list"),
        ([H100], "", {}, "was given 0 GPUs, not one"),
    ],
)
def test_any_other_is_refused(
    driver: Driver,
    h100: Target,
    gpus: list[str],
    visible: str | None,
    variables: dict[str, str],
    says: str,
) -> None:
    driver.has(*gpus)
    with pytest.raises(GpuRefused) as caught:
        look(h100, visible, **variables)
    assert says in str(caught.value)


def test_a_daemon_of_mps_is_seen_by_its_process(
    driver: Driver, h100: Target, tmp_path: Path
) -> None:
    pipes = tmp_path / "mps"
    pipes.mkdir()
    told = pipes / "nvidia-cuda-mps-control.pid"
    told.write_text(f"{os.getpid()}\n")
    with pytest.raises(GpuRefused, match="through MPS: its daemon runs"):
        look(h100, CUDA_MPS_PIPE_DIRECTORY=str(pipes))
    told.write_text("4194304999\n")
    assert look(h100, CUDA_MPS_PIPE_DIRECTORY=str(pipes)).uuid == "GPU-aa"


class TestOthers:
    """Processes on the GPU."""

    def test_one_that_stays_ends_the_job(self, driver: Driver, h100: Target) -> None:
        driver.has(H100, OTHER, processes="GPU-aa, 4711\nGPU-bb, 4712\n")
        with pytest.raises(GpuRefused, match=r"\(GPU-aa\) is shared: 1 other process on it"):
            look(h100)

    def test_one_that_was_ending_is_waited_for(self, driver: Driver, h100: Target) -> None:
        driver.has(H100, processes="GPU-aa, 4711\n")
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == 2:
                driver.has(H100)

        assert held_gpu(h100, {}, None, sleep).uuid == "GPU-aa"
        assert len(slept) == 2

    def test_those_on_another_gpu_are_no_reason(self, driver: Driver, h100: Target) -> None:
        driver.has(H100, OTHER, processes="GPU-bb, 4712\n")
        assert look(h100).uuid == "GPU-aa"


class TestADriverThatIsLost:
    """Another node, or a later try, may have it."""

    def test_its_words_are_handed_on(self, driver: Driver, h100: Target) -> None:
        driver.program.write_text("#!/bin/sh\necho 'GPU has fallen off the bus'; exit 15\n")
        with pytest.raises(MissingEnvironment, match="does not answer: GPU has fallen off"):
            look(h100)

    def test_a_node_without_one_is_told(self, driver: Driver, h100: Target) -> None:
        driver.program.unlink()
        with pytest.raises(MissingEnvironment, match="driver of this node does not answer"):
            look(h100)

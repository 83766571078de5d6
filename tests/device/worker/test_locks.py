"""locks: one job at a time on a GPU, and nobody else's work beside it."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.device.worker import locks as exclusive
from assay.device.worker.locks import Watch, require_alone
from assay.device.worker.telemetry import Choice
from assay.shared import gpu_locks
from assay.shared.errors import NoDevice
from assay.shared.gpu_locks import hold_gpu, lock_path

CHOICE = Choice(0, "GPU-1", "NVIDIA H100 80GB HBM3")


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    monkeypatch.setenv(gpu_locks.VARIABLE, str(tmp_path))
    monkeypatch.delenv(exclusive.SHARED_VARIABLE, raising=False)
    return tmp_path


class Nvml:
    """Answers from scripts; an exhausted script repeats its last answer."""

    nvmlMemory_v2 = 2  # noqa: N815

    class NVMLError(Exception):
        pass

    def __init__(self, processes, memory=0):
        self.processes, self.memory = list(processes), memory

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        return uuid

    def nvmlDeviceGetComputeRunningProcesses(self, handle):  # noqa: N802
        count = self.processes.pop(0) if len(self.processes) > 1 else self.processes[0]
        if count is None:
            raise self.NVMLError("not permitted")
        return [object()] * count

    def nvmlDeviceGetMemoryInfo(self, handle, version):  # noqa: N802
        return SimpleNamespace(used=self.memory)


class TestLock:
    def test_a_second_holder_waits_and_says_so_once(self, locks):
        holder = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import time; from assay.shared.gpu_locks import hold_gpu\n"
                "with hold_gpu('GPU-1'):\n    print('held', flush=True); time.sleep(1.0)",
            ],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdout.readline() == "held\n"
        said = []
        with hold_gpu("GPU-1", say=said.append) as lock:
            assert lock.waited_s > 0.2
            assert lock.path == str(locks / "assay-gpu-GPU-1.lock")
        assert holder.wait() == 0
        assert said == ["waiting: another Assay job is measuring on GPU-1"]

    def test_waiting_ends_with_what_to_do(self):
        with (
            hold_gpu("GPU-1"),
            pytest.raises(NoDevice, match="CUDA_VISIBLE_DEVICES"),
            hold_gpu("GPU-1", wait_s=0.0, say=lambda text: None),
        ):
            pass

    def test_a_link_is_not_followed_and_no_lock_is_no_reason_not_to_measure(self, tmp_path):
        lock_path("GPU-1").symlink_to(tmp_path / "elsewhere")
        with hold_gpu("GPU-1") as lock:
            assert lock.path is None
            assert lock.detail.startswith("no lock at assay-gpu-GPU-1.lock")
        assert not (tmp_path / "elsewhere").exists()


class TestAlone:
    def alone(self, nvml):
        waits = []
        return require_alone(nvml, CHOICE, 2.0, waits.append), waits

    def test_a_process_that_is_just_ending_is_waited_for(self):
        (use, _), waits = self.alone(Nvml([1, 1, 0]))
        assert use.processes == 0
        assert len(waits) == 2

    @pytest.mark.parametrize(
        ("nvml", "said"), [(Nvml([2]), "2 other processes"), (Nvml([0], 30 * 2**30), r"30\.0 GiB")]
    )
    def test_another_process_is_refused_even_if_a_container_hides_it(self, nvml, said):
        with pytest.raises(NoDevice, match=said):
            self.alone(nvml)


def test_a_second_process_voids_what_it_overlaps():
    now = [0.0]
    watch = Watch(Nvml([1, 2, 1]), "GPU-1", 0.25, lambda: now[0])
    for step in range(30):
        now[0] = step * 0.1
        watch.poll(1)
    assert len(watch.shared_at) == 1
    at = watch.shared_at[0]
    assert watch.void_reason(at - 1, at) == "another process used the GPU"
    assert watch.void_reason(at + 0.5, at + 1) is None

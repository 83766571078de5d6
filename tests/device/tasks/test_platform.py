"""platform: the Gpu record from NVML's answers and refusals."""

import pytest

from assay.device.tasks.platform import is_compat, read_gpu
from assay.device.worker.telemetry import Choice
from tests.device.worker.test_telemetry import FakeNvml


class Nvml(FakeNvml):
    """Refuses whatever it has no answer for, as NVML does."""

    NVML_CLOCK_GRAPHICS = 0

    def __getattr__(self, name):
        answers = {
            "nvmlDeviceGetVbiosVersion": b"96.00.CF.00.01",
            "nvmlDeviceGetPowerManagementLimit": 700_000,
            "nvmlDeviceGetEccMode": [1, 1],
            "nvmlDeviceGetComputeMode": 3,
            "nvmlDeviceGetMaxClockInfo": 1980,
            "nvmlDeviceGetPciInfo": type("Pci", (), {"busId": b"00000000:18:00.0"}),
            "nvmlDeviceGetMemoryInfo": type("Memory", (), {"total": 85_520_809_984}),
        }

        def call(*arguments):
            if name not in answers:
                raise self.NVMLError("not supported")
            return answers[name]

        return call


def test_gpu_record(validated):
    cuda = {"compute_capability": "9.0", "multiprocessors": 132, "l2_bytes": 52_428_800}
    choice = Choice(0, "GPU-0000-0", "NVIDIA H100 80GB HBM3")
    gpu = validated("Gpu", read_gpu(Nvml(["NVIDIA H100 80GB HBM3"]), choice, cuda))
    assert gpu.power_limit_w == 700.0
    assert gpu.ecc is True
    assert gpu.mig is False
    assert gpu.compute_mode == "exclusive_process"
    assert gpu.pci_bus_id == "00000000:18:00.0"
    assert gpu.persistence is None
    assert gpu.application_clock_sm_mhz is None


@pytest.mark.parametrize(
    ("path", "compat"),
    [
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", False),
        ("/usr/local/cuda/compat/libcuda.so.1", True),
        ("/usr/lib/libcuda.so.1", False),
        (None, False),
    ],
)
def test_compat(path, compat):
    assert is_compat(path, "580.159.04") is compat

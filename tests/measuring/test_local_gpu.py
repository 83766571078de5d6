"""A target's GPU here, or the one sentence on why it cannot be measured on."""

from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import MissingEnvironment
from assay.measuring import local_gpu
from assay.measuring.host_machine import HostDriver, HostGpu
from assay.measuring.local_gpu import Absence, find_gpu
from assay.records.evaluations import NotRun
from tests import builders as b
from tests.pipeline.stand_in import write_program

TARGET = b.target()
H100 = HostGpu("NVIDIA H100 80GB HBM3", "GPU-1")
OLD = HostDriver("535.104.05", 12020, (H100,))
NEW = HostDriver("580.65.06", 13000, (H100,))
OTHER = HostDriver("580.65.06", 13000, (HostGpu("NVIDIA A10", "GPU-2"),) * 2)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device's Python that finds no GPU it can use."""

    def probe(*_: object, **__: object) -> Any:
        raise MissingEnvironment("the device Python lacks nvidia-ml-py: pip install nvidia-ml-py")

    monkeypatch.setattr(local_gpu, "probe_device", probe)


def python_with(folder: Path, *packages: str) -> str:
    """A Python that answers as one with these of the packages does."""
    missing = [name for name in local_gpu.PACKAGES if name not in packages]
    answer = f"{local_gpu.ANSWER}' {' '.join(missing)}"
    write_program(folder / "python", f"#!/bin/sh\necho '{answer}\n")
    return str(folder / "python")


@pytest.mark.usefixtures("refusing")
class TestOnTheHost:
    """The reasons why the device's Python finds no GPU, said by what helps."""

    def test_no_driver_is_no_matter_of_packages(self, tmp_path: Path) -> None:
        absence = find_gpu(TARGET, None, "host", python_with(tmp_path))
        assert absence == Absence(NotRun.NO_DEVICE, "no NVIDIA driver here")

    @pytest.mark.parametrize(
        ("packages", "words"),
        [
            ((), "lacks PyTorch and nvidia-ml-py: name one that has them with --device-python, "),
            (("PyTorch",), "lacks nvidia-ml-py: name one that has it with --device-python, "),
        ],
    )
    def test_packages_are_named_together(self, tmp_path, packages, words):
        absence = find_gpu(TARGET, NEW, "host", python_with(tmp_path, *packages))
        assert words in str(absence)


@pytest.mark.parametrize(("cuda", "there"), [("13.0", True), ("13.1", True), ("12.8", False)])
def test_a_device_that_answers_decides_by_its_cuda(monkeypatch, cuda, there):
    device = b.platform().device.model_copy(update={"cuda_driver": cuda})
    monkeypatch.setattr(local_gpu, "probe_device", lambda *_: device)
    found = find_gpu(TARGET, None, "host", "python3")
    if there:
        assert str(found) == f"{device.gpu.product} ({device.gpu.uuid})"
    else:
        assert isinstance(found, Absence)
        assert found.reason is NotRun.DRIVER_TOO_OLD


@pytest.mark.parametrize(
    ("driver", "reason"),
    [(None, NotRun.NO_DEVICE), (OLD, NotRun.DRIVER_TOO_OLD), (OTHER, NotRun.NO_DEVICE)],
)
def test_what_keeps_a_container_from_measuring(driver: HostDriver | None, reason: NotRun) -> None:
    absence = find_gpu(TARGET, driver, "podman", "python3")
    assert isinstance(absence, Absence)
    assert absence.reason is reason

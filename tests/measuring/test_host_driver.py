"""The driver of a machine, asked without any package."""

from pathlib import Path

import pytest

from assay.building.toolchain import DRIVER_API, OLDEST_DRIVER, locked_versions
from assay.measuring import host_driver
from assay.measuring.host_driver import HostDriver, HostGpu, dotted, find_host_driver, visible_gpus

ROOT = Path(__file__).resolve().parents[2]
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 2023\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (me@)\n"
LISTED = "0, GPU-a, {0}, Disabled, NVIDIA H200\n1, GPU-b, {0}, Enabled, NVIDIA A10\n"
GPUS = (HostGpu("NVIDIA H200", "GPU-a"), HostGpu("NVIDIA A10", "GPU-b", mig=True))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a machine with no driver and no nvidia-smi, whose libcuda is not there."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "dev").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(host_driver, "_cuda_of_libcuda", lambda: None)
    return tmp_path


def load(machine: Path, text: str) -> None:
    """Load a kernel module that says ``text`` of itself."""
    path = machine / "proc/driver/nvidia/version"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def list_gpus(machine: Path, text: str) -> None:
    """Install an nvidia-smi that says ``text``."""
    program = machine / "bin/nvidia-smi"
    program.write_text(f'#!/bin/sh\nwhile read line; do echo "$line"; done <<END\n{text}END\n')
    program.chmod(0o755)


def test_without_a_kernel_module_there_is_no_driver(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_host_driver(machine) is None
    monkeypatch.setattr(host_driver, "_cuda_of_libcuda", lambda: 13000)
    assert find_host_driver(machine) is None, "a libcuda alone is none"


@pytest.mark.parametrize(("text", "release"), [(CLOSED, "535.104.05"), (OPEN, "580.159.04")])
def test_the_kernel_module_says_its_release(machine: Path, text: str, release: str) -> None:
    load(machine, text)
    assert find_host_driver(machine) == HostDriver(release, None, ())


@pytest.mark.parametrize(("stated", "release"), [("580.159.04", "580.159.04"), ("[N/A]", None)])
def test_every_gpu_is_listed(machine: Path, stated: str, release: str | None) -> None:
    list_gpus(machine, LISTED.format(stated))
    assert find_host_driver(machine) == HostDriver(release, None, GPUS)


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [(None, GPUS), ("1, 0", GPUS[::-1]), ("GPU-b", GPUS[1:]), ("", ()), ("7", ())],
)
def test_a_variable_says_which_are_seen(wanted: str | None, seen: tuple[HostGpu, ...]) -> None:
    environment = {} if wanted is None else {"CUDA_VISIBLE_DEVICES": wanted}
    assert visible_gpus(GPUS, environment) == seen


@pytest.mark.parametrize(
    ("release", "cuda", "too_old"),
    [
        ("535.104.05", 12020, True),
        ("535.104.05", 13000, False),  # a compatibility package
        ("580.65.06", 13000, False),
        ("590.44.01", 13010, False),
        ("580.65.06", 12090, True),
        ("580.65.05", None, True),
        ("580.65.06", None, False),
        ("1000.1", None, False),
        (None, None, False),
        (None, 12080, True),
    ],
)
def test_is_by_cuda_first(release: str | None, cuda: int | None, too_old: bool) -> None:
    assert HostDriver(release, cuda, ()).too_old is too_old


def test_the_constants_are_those_of_the_locked_compiler() -> None:
    nvcc = locked_versions(ROOT)["nvidia-cuda-nvcc"]
    assert nvcc.startswith(f"{dotted(DRIVER_API)}.")
    assert not HostDriver(OLDEST_DRIVER, DRIVER_API, ()).too_old

"""The driver of a machine, asked without any package."""

from pathlib import Path

import pytest

from assay.building.toolchain import DRIVER_API, OLDEST_DRIVER, locked_versions
from assay.measuring import host_machine
from assay.measuring.host_machine import (
    HostDriver,
    HostGpu,
    dotted,
    find_host_driver,
    packages_in,
    visible_gpus,
)
from tests.pipeline.stand_in import write_program

ROOT = Path(__file__).resolve().parents[2]
LISTED = "0, GPU-a, {0}, Disabled, NVIDIA H200\n1, GPU-b, {0}, Enabled, NVIDIA A10\n"
GPUS = (HostGpu("NVIDIA H200", "GPU-a"), HostGpu("NVIDIA A10", "GPU-b", mig=True))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a machine with no driver and no nvidia-smi, whose libcuda is not there."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(host_machine, "_cuda_of_libcuda", lambda: None)
    return tmp_path


def list_gpus(machine: Path, text: str) -> None:
    script = f'#!/bin/sh\nwhile read line; do echo "$line"; done <<END\n{text}END\n'
    write_program(machine / "bin/nvidia-smi", script)


def test_without_an_answer_there_is_no_driver(machine, monkeypatch):
    monkeypatch.setattr(host_machine, "_cuda_of_libcuda", lambda: 13000)
    assert find_host_driver() is None, "a libcuda alone is none"
    list_gpus(machine, "No devices were found\n")
    assert find_host_driver() is None


def test_every_gpu_is_listed(machine: Path) -> None:
    list_gpus(machine, LISTED.format("580.159.04"))
    assert find_host_driver() == HostDriver("580.159.04", None, GPUS)


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [(None, GPUS), ("1, 0", GPUS[::-1]), ("GPU-b", GPUS[1:]), ("", ()), ("7", ())],
)
def test_a_variable_says_which_are_seen(wanted: str | None, seen: tuple[HostGpu, ...]) -> None:
    environment = {} if wanted is None else {"CUDA_VISIBLE_DEVICES": wanted}
    assert visible_gpus(GPUS, environment) == seen


def test_the_constants_are_those_of_the_locked_compiler() -> None:
    nvcc = locked_versions(ROOT)["nvidia-cuda-nvcc"]
    assert nvcc.startswith(f"{dotted(DRIVER_API)}.")
    assert not HostDriver(OLDEST_DRIVER, DRIVER_API, ()).too_old


def test_a_directory_of_packages_is_told_with_the_versions_that_lie_there(tmp_path: Path) -> None:
    for name, metadata in {
        "torch-2.11.0.dist-info": "Name: torch\nVersion: 2.11.0\n",
        "nvidia_ml_py-13.580.dist-info": "Name: nvidia-ml-py\nVersion: 13.580\n",
        "broken-1.dist-info": "",
    }.items():
        (tmp_path / "full" / name).mkdir(parents=True)
        (tmp_path / "full" / name / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}")
    (tmp_path / "empty").mkdir()
    full, empty = packages_in(tmp_path / "full"), packages_in(tmp_path / "empty")
    assert (full.path, empty.path) == (str(tmp_path / "full"), str(tmp_path / "empty"))
    assert full.packages == {"nvidia-ml-py": "13.580", "torch": "2.11.0"}
    assert empty.packages == {}

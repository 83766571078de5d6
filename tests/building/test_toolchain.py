"""The toolchain: unpacked from its lock, refused where it cannot work."""

import shutil
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.building import toolchain as module
from assay.building.toolchain import (
    CUDA,
    DATE,
    LOCK,
    Toolchain,
    ensure_packages,
    ensure_toolchain,
    find_host_compiler,
    toolchain_directory,
)
from assay.shared.files import write_bytes
from tests.base.test_launcher import make_wheel
from tests.pipeline.stand_in import write_program


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (None, r"apt-get install g\+\+"),
        ("echo 5", "release 5 and nvcc"),
        ("echo 16", "release 16 and nvcc"),
        ("exit 1", "does not say its release"),
        ("exit 0", "does not say its release"),
        ("echo wrapper", "does not say its release"),
    ],
)
def test_a_host_compiler_that_nvcc_refuses(tmp_path, monkeypatch, script, why):
    monkeypatch.setenv("PATH", str(tmp_path))
    if script is not None:
        write_program(tmp_path / "g++", f"#!/bin/sh\n{script}\n")
    with pytest.raises(MissingEnvironment, match=why):
        find_host_compiler()


@pytest.mark.compiler
def test_it_is_what_the_lock_says(toolchain: Toolchain):
    """The toolchain that the lock unpacks to."""
    assert toolchain.record.nvcc == "13.0.88"
    assert toolchain.record.wheels["nvidia-cutlass"] == "4.2.0.0"
    cuda = toolchain.site / CUDA
    assert (cuda / "lib64" / "libcudart.so").resolve().name.startswith("libcudart.so.13")
    assert {path.stat().st_mtime for path in (cuda / "include").glob("*.h")} == {DATE}


class TestUnpacking:
    """From wheels, offline, whole or not at all."""

    @pytest.fixture
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "requirements").mkdir()
        wheels = tmp_path / "wheels"
        wheels.mkdir()
        line = make_wheel(wheels, "nvidia", "13.0", "")
        (tmp_path / LOCK).write_text(line)
        monkeypatch.setenv("ASSAY_WHEELHOUSE", str(wheels))
        # The small wheel has no CUDA tree; the links need the place where it would stand.
        monkeypatch.setattr(module, "CUDA", "nvidia-13.0.dist-info")
        return tmp_path

    def test_a_wheel_without_cuda_leaves_nothing(self, place: Path):
        with pytest.raises(MissingEnvironment, match="cannot unpack"):
            ensure_packages(place)
        assert not toolchain_directory(place).exists()

    def test_a_wheel_that_is_not_the_locked_one_is_refused(self, place, capfd):
        make_wheel(place / "wheels", "nvidia", "13.0", "forged = True\n")
        with pytest.raises(MissingEnvironment, match="could not be installed"):
            ensure_packages(place)
        assert "DO NOT MATCH THE HASHES" in capfd.readouterr().err
        assert not toolchain_directory(place).exists()

    def test_what_is_there_is_not_unpacked_again(self, place: Path):
        toolchain_directory(place).mkdir(parents=True)
        shutil.rmtree(place / "wheels")
        assert ensure_packages(place) == toolchain_directory(place)


def test_an_nvcc_that_does_not_start_is_named(tmp_path: Path):
    write_bytes(tmp_path / LOCK, b"# pins nothing\n")
    nvcc = toolchain_directory(tmp_path) / CUDA / "bin" / "nvcc"
    write_program(nvcc, "#!/bin/sh\nexit 1\n")
    with pytest.raises(MissingEnvironment, match="does not start"):
        ensure_toolchain(tmp_path)

"""The toolchain: unpacked from its lock, refused where it cannot work."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.base.pip_locks import lock_versions, pip_install
from assay.building import toolchain as module
from assay.building.toolchain import (
    CUDA,
    DATE,
    LOCK,
    Toolchain,
    ensure_packages,
    find_host_compiler,
    nvcc_version,
    toolchain_directory,
)
from tests.base.test_launcher import make_wheel


def fake_compiler(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / "g++"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -dumpversion ] && echo {version} || echo "g++ (test) {version}.1.0"\n'
    )
    program.chmod(0o755)


class TestHostCompiler:
    """nvcc accepts a range of g++ releases and needs one."""

    def test_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingEnvironment, match=r"apt-get install g\+\+") as caught:
            find_host_compiler()
        assert caught.value.exit_code == 3

    @pytest.mark.parametrize("version", ["5", "16"])
    def test_a_release_that_nvcc_refuses(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
    ):
        fake_compiler(tmp_path / "bin", version)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        with pytest.raises(MissingEnvironment, match=f"release {version} and nvcc"):
            find_host_compiler()

    @pytest.mark.parametrize(
        ("script", "why"),
        [
            ("exit 1", r"fails \(g\+\+ -dumpversion ends with code 1\)"),
            ("exit 0", r"is silent \(g\+\+ -dumpversion prints nothing\)"),
            ("echo wrapper", "says 'wrapper' where its release is asked for"),
        ],
    )
    def test_one_that_does_not_say_its_release(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
    ):
        program = tmp_path / "g++"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        with pytest.raises(MissingEnvironment, match=why) as caught:
            find_host_compiler()
        assert str(program) in str(caught.value)

    def test_the_oldest_and_the_newest_it_accepts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        for version in ("6", "15"):
            fake_compiler(tmp_path / "bin", version)
            assert find_host_compiler() == f"g++ (test) {version}.1.0"


@pytest.mark.compiler
class TestTheRealOne:
    """The toolchain that the lock unpacks to."""

    def test_versions(self, toolchain: Toolchain):
        assert toolchain.record.nvcc == "13.0.88"
        assert toolchain.record.wheels["nvidia-cutlass"] == "4.2.0.0"
        assert toolchain.record.host_compiler.startswith("g++")

    def test_links_that_the_wheels_lack(self, toolchain: Toolchain):
        cuda = toolchain.site / CUDA
        assert (cuda / "lib64" / "libcudart.so").resolve().name.startswith("libcudart.so.13")

    def test_every_file_has_one_date(self, toolchain: Toolchain):
        headers = ((toolchain.site / CUDA) / "include").glob("*.h")
        assert {path.stat().st_mtime for path in headers} == {DATE}

    def test_the_disassembler_reads_what_nvcc_writes(self, toolchain: Toolchain, tmp_path: Path):
        source = tmp_path / "k.cu"
        source.write_text("__global__ void k(float* p) { p[threadIdx.x] *= 2; }\n")
        cubin = tmp_path / "k.cubin"
        nvcc = toolchain.site / CUDA / "bin" / "nvcc"
        subprocess.run([nvcc, "-arch=sm_90a", "-cubin", "-o", cubin, source], check=True)
        dump = subprocess.run(
            [toolchain.site / CUDA / "bin" / "cuobjdump", "-sass", cubin],
            env={**os.environ, "PATH": f"{nvcc.parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "sm_90a" in dump.stdout
        assert "LDG" in dump.stdout and "EXIT" in dump.stdout


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

    def test_a_wheel_that_is_not_the_locked_one_is_refused(
        self, place: Path, capfd: pytest.CaptureFixture[str]
    ):
        make_wheel(place / "wheels", "nvidia", "13.0", "forged = True\n")
        with pytest.raises(MissingEnvironment, match="could not be installed"):
            ensure_packages(place)
        assert "DO NOT MATCH THE HASHES" in capfd.readouterr().err
        assert not toolchain_directory(place).exists()

    def test_what_is_there_is_not_unpacked_again(self, place: Path):
        toolchain_directory(place).mkdir(parents=True)
        shutil.rmtree(place / "wheels")
        assert ensure_packages(place).site == toolchain_directory(place)


def test_an_nvcc_that_does_not_start_is_named(tmp_path: Path):
    nvcc = tmp_path / "nvidia" / "cu13" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\nexit 1\n")
    nvcc.chmod(0o755)
    with pytest.raises(MissingEnvironment, match="does not start"):
        nvcc_version(nvcc)


def test_versions_are_read_off_a_lock(tmp_path: Path):
    lock = tmp_path / "lock.txt"
    lock.write_text(
        "# comment==1\nnumpy==2.0 ; python_version < '3.12' \\\n    --hash=sha256:00\n"
        "torch==2.13.0+cpu \\\n    --hash=sha256:00\n"
    )
    assert lock_versions(lock) == {"numpy": "2.0", "torch": "2.13.0+cpu"}


def test_a_wheelhouse_keeps_pip_off_the_network(tmp_path: Path):
    command = pip_install(Path("python"), Path("lock"), {"ASSAY_WHEELHOUSE": str(tmp_path)})
    assert "--no-index" in command and "--require-hashes" in command
    assert "--no-index" not in pip_install(Path("python"), Path("lock"), {})

"""Looking into the binaries of optional packages."""

import sys
from pathlib import Path

import pytest

from assay.building.inspect_device_code import inspect_device_code
from assay.records.builds import ArchCode, DeviceCodeResult
from assay.records.claims import ClaimKind
from assay.records.evaluations import DeviceCode
from assay.records.rivals import PinnedPackage, PinnedWheel, Rival
from assay.shared.files import sha256_bytes, write_bytes
from tests import builders as b
from tests.pipeline.stand_in import write_program

SYMBOLS = """
Fatbin elf code:
================
arch = sm_80
code version = [1,8]

symbols:
STT_FUNC         STB_LOCAL  STO_ENTRY      _Z11FwdKernel80Pi
STT_FUNC         STB_WEAK   STO_ENTRY      _Z6helperPi
STT_OBJECT       STB_LOCAL  STV_DEFAULT    _ZFwdKernelTable

Fatbin elf code:
================
arch = sm_90a
code version = [1,8]

symbols:
STT_FUNC         STB_LOCAL  STO_ENTRY      _Z11FwdKernel90Pi

Fatbin ptx code:
================
arch = sm_90
compressed
"""
PTX = """
Fatbin elf code:
================
arch = sm_80
code version = [1,8]

Fatbin ptx code:
================
arch = sm_90
compressed

.version 9.0
.visible .entry _Z11FwdKernel90Pi(
)
.entry _Z6helperPi(
)
"""
RIVAL = Rival(
    id="made_up",
    title="A made-up rival",
    purpose="tests",
    module="made_up",
    packages=(
        PinnedPackage(
            name="assay-made-up",
            version="1.2",
            wheels=(PinnedWheel(file="made_up.whl", bytes=1, sha256="0" * 64),),
        ),
    ),
    python=">=3.9",
    needs="nothing",
)
CLAIM = b.claim(
    "code",
    DeviceCode(
        kind="device_code", rival="made_up", arch="sm_89", kernels="FwdKernel", expect="absent"
    ),
    kind=ClaimKind.SUPPORT, value=None, unit=None, resolution=None,
)  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages that this Python is told of, with the made-up rival in it."""
    site = tmp_path / "site"
    (site / "made_up").mkdir(parents=True)
    (site / "made_up" / "_C.so").write_bytes(b"binary")
    info = site / "assay_made_up-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-made-up\nVersion: 1.2\n")
    (info / "RECORD").write_text("made_up/__init__.py,,\nmade_up/_C.so,,\n")
    # Importing it would be seen: nothing of a stranger's package runs here.
    (site / "made_up" / "__init__.py").write_text("raise SystemExit('imported')")
    return site


def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program in cuobjdump's place on PATH; the lock's is not unpacked."""
    write_bytes(tmp_path / "requirements" / "toolchain.txt", b"# pins nothing\n")
    write_program(tmp_path / "bin" / "cuobjdump", f"#!/bin/sh\n{script}\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")


def look(root: Path) -> DeviceCodeResult:
    rivals = {"made_up": RIVAL}
    (found,) = inspect_device_code(root, [CLAIM], rivals, sys.executable, [root / "site"])
    return found


def test_what_an_installed_package_holds(tmp_path, site, monkeypatch):
    (tmp_path / "symbols").write_text(SYMBOLS)
    (tmp_path / "ptx").write_text(PTX)
    script = (
        f'case $1 in --version) echo "V13.2.86";; -symbols) cat {tmp_path}/symbols;; '
        f"-ptx) cat {tmp_path}/ptx;; esac"
    )
    tool(tmp_path, monkeypatch, script)
    found = look(tmp_path)
    assert (found.status, found.version, found.tool) == ("inspected", "1.2", "cuobjdump 13.2.86")
    (binary,) = found.objects
    assert (binary.path, binary.sha256) == ("made_up/_C.so", sha256_bytes(b"binary"))
    assert found.code == (
        ArchCode(arch="sm_80", form="cubin", files=1, kernels=1),
        ArchCode(arch="sm_90", form="ptx", files=1, kernels=1),
        ArchCode(arch="sm_90a", form="cubin", files=1, kernels=1),
    )
    assert str(tmp_path) not in found.model_dump_json()


def test_a_binary_of_the_host_alone_holds_nothing(tmp_path, site, monkeypatch):
    tool(tmp_path, monkeypatch, "echo \"File '$2' does not contain device code\"; exit 255")
    found = look(tmp_path)
    assert (found.status, found.code) == ("inspected", ())


def test_a_binary_that_is_not_read_is_told(tmp_path, site, monkeypatch):
    tool(tmp_path, monkeypatch, "exit 1")
    found = look(tmp_path)
    assert (found.status, found.detail) == ("failed", "cuobjdump does not read made_up/_C.so")
    (site / "made_up" / "_C.so").unlink()
    # From Python 3.12 on, files that are not there are left out of a package's list.
    assert look(tmp_path).status == "failed"


@pytest.mark.parametrize("python", [sys.executable, "/no/such/python"])
def test_what_is_not_installed(tmp_path: Path, python: str) -> None:
    (found,) = inspect_device_code(tmp_path, [CLAIM], {"made_up": RIVAL}, python)
    assert (found.status, found.version, found.objects) == ("not_installed", None, ())

"""The unpacked toolchain is what its wheels hold, or nothing is compiled with it."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.building.toolchain import CUDA, LOCK, OUR_LINKS, Toolchain, toolchain_directory
from assay.building.toolchain_check import CODE, require_sound_toolchain

NVCC, HEADER = f"{CUDA}/bin/nvcc", f"{CUDA}/include/cuda.h"


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / LOCK).parent.mkdir()
    (tmp_path / LOCK).write_text("nvidia-cuda-nvcc==13.0.88\n")
    site = toolchain_directory(tmp_path)
    files = {NVCC: b"compiles", HEADER: b"#pragma once", f"{CUDA}/lib/libcudart.so.13": b"runs"}
    record = "nvcc.dist-info/RECORD"
    lines = [f"{name},{digest(data)},{len(data)}" for name, data in files.items()]
    for name, data in {**files, record: "\n".join([*lines, f"{record},,"]).encode()}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(data)
    for name, target in OUR_LINKS.items():
        (site / name).symlink_to(target)
    return site


def test_one_that_is_as_it_was_unpacked(site: Path, tmp_path: Path) -> None:
    require_sound_toolchain(tmp_path)


def test_where_nothing_is_unpacked_there_is_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / LOCK).parent.mkdir()
    (tmp_path / LOCK).write_text("")
    require_sound_toolchain(tmp_path)


def relink(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "compiler": (lambda site: (site / NVCC).write_bytes(b"c0mpiles"), f"{NVCC} is changed"),
    "header": (lambda site: (site / HEADER).unlink(), f"{HEADER} is missing"),
    "further": (
        lambda site: (site / CUDA / "include" / "more.h").touch(),
        f"{CUDA}/include/more.h is in no wheel",
    ),
    "link": (lambda site: relink(site / NVCC, "/bin/true"), f"{NVCC} is changed"),
}


@pytest.mark.parametrize(("change", "told"), CHANGES.values(), ids=CHANGES)
def test_any_change_is_named(
    site: Path, tmp_path: Path, change: Callable[[Path], object], told: str
) -> None:
    change(site)
    with pytest.raises(CheckFailed) as caught:
        require_sound_toolchain(tmp_path)
    assert caught.value.code == CODE
    assert f"({told})" in str(caught.value)
    assert str(site) in str(caught.value)


@pytest.mark.compiler
def test_the_real_one_is_sound(root: Path, toolchain: Toolchain) -> None:
    require_sound_toolchain(root)

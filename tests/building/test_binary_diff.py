"""Differences of two binaries: real host objects, real device code, and files that are neither."""

import subprocess
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.building.binary_diff import FATBIN, OUTSIDE, cubins_inside, differences, explain
from assay.building.nvcc import compiled
from assay.building.recipe import Tree
from assay.building.toolchain import Toolchain, toolchain_lock_digest
from assay.shared.files import sha256_bytes, sha256_file
from tests.building.test_build import catalog, make_tree
from tests.verification.test_rebuild import describe_small

HOST = 'extern const char text[] = "{text}"; int twice(int x) {{ return {factor} * x; }}\n'


def library(folder: Path, name: str, factor: int = 2, text: str = "abc") -> Path:
    """A shared library of a line of C++, by the g++ of this machine."""
    source = folder / "twice.cpp"
    source.write_text(HOST.format(factor=factor, text=text))
    command = ["g++", "-O1", "-shared", "-fPIC", "-o", name, "twice.cpp"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


@pytest.mark.compiler
class TestHostCode:
    def test_the_same_source_gives_no_difference(self, tmp_path: Path):
        found = differences(library(tmp_path, "a.so"), library(tmp_path, "b.so"))
        assert found == ()
        assert explain(found) == "no byte differs"
        assert cubins_inside(tmp_path / "a.so") == ()

    def test_sections_are_compared_in_bytes(self, tmp_path: Path):
        one = library(tmp_path, "a.so")
        found = {e.name: e for e in differences(one, library(tmp_path, "b.so", factor=300))}
        assert found[".text"].different > 0
        assert not any(entry.is_device_code for entry in found.values())
        assert explain(list(found.values())).startswith("the device code is the same")
        found = {e.name: e for e in differences(one, library(tmp_path, "b.so", text="abX"))}
        assert set(found) <= {".rodata", ".note.gnu.build-id"}
        assert found[".rodata"].different == 1

    def test_bytes_outside_every_section_are_seen(self, tmp_path: Path):
        one, two = library(tmp_path, "a.so"), library(tmp_path, "b.so")
        with two.open("ab") as stream:
            stream.write(b"hidden")
        (found,) = differences(one, two)
        assert found.name == OUTSIDE
        assert found.different == len(b"hidden")


@pytest.mark.compiler
class TestDeviceCode:
    def test_the_cubins_of_the_record_lie_in_the_library_as_they_are(
        self, root: Path, toolchain: Toolchain, tmp_path: Path
    ):
        """So equal cubins mean equal device code, whatever the host code around them is."""
        place = make_tree(root, tmp_path / "place")
        job = describe_small(place, catalog(), toolchain_lock_digest(root))
        with compiled(job, Tree(place), toolchain) as outcome:
            assert outcome.artifact is not None, outcome.diagnostics
            images = {sha256_bytes(cubin) for cubin in cubins_inside(outcome.artifact)}
            assert {cubin.sha256 for cubin in outcome.cubins} <= images
            kept = outcome.artifact.parent / "keep"
            linked = {sha256_file(path) for path in kept.glob("*_dlink.cubin")}
            assert images - linked == {cubin.sha256 for cubin in outcome.cubins}

            data = bytearray(outcome.artifact.read_bytes())
            (cubin,) = (path for path in kept.glob("*.cubin") if "_dlink" not in path.name)
            start = data.index(cubin.read_bytes())
            names = data.index(b".shstrtab\0", start)
            data[names + 1] ^= 1
            changed = tmp_path / "changed.so"
            changed.write_bytes(data)
            found = differences(outcome.artifact, changed)
            assert found and all(entry.is_device_code for entry in found)
            assert all(entry.name.startswith(FATBIN) for entry in found)
            assert explain(found).startswith("the device code differs")


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF" + bytes(60)])
def test_what_is_no_elf_file_is_refused(tmp_path: Path, data: bytes):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(BadInput, match="is no ELF file"):
        differences(path, path)
    with pytest.raises(BadInput, match="cannot be read"):
        cubins_inside(tmp_path / "none")

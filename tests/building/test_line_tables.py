"""Line tables looked past: a skeleton and the other sections make the first cubin again, or not."""

import lzma
import random
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from assay.base.errors import BadInput
from assay.building.line_tables import (
    FOLDER,
    NAMES,
    code_digest,
    cubins_inside,
    differ_in_line_tables_alone,
    keep_skeleton,
    restored,
    skeleton,
)
from assay.building.nvcc import compiled
from assay.building.recipe import Tree, describe
from assay.building.toolchain import Toolchain, toolchain_lock_digest
from assay.shared.files import sha256_bytes, sha256_file
from tests.building.test_build import catalog, make_tree


@pytest.fixture(scope="module")
def cubin(root: Path) -> bytes:
    """A published cubin's layout and line tables, with made-up bytes in all other sections."""
    data = bytearray(lzma.decompress(next((root / FOLDER).glob("*.xz")).read_bytes()))
    bytes_of = random.Random(1)
    for section in ELFFile(BytesIO(data)).iter_sections():
        plain = section["sh_type"] not in {"SHT_NULL", "SHT_NOBITS"}
        if plain and section.name not in (".debug_line", ".rel.debug_line", NAMES):
            start, size = section["sh_offset"], section["sh_size"]
            data[start : start + size] = bytes_of.randbytes(size)
    return bytes(data)


def changed(cubin: bytes, section: str) -> bytes:
    """The cubin with one byte of the section that starts like this changed."""
    found = next(s for s in ELFFile(BytesIO(cubin)).iter_sections() if s.name.startswith(section))
    at = found["sh_offset"] + 8
    return cubin[:at] + bytes([cubin[at] ^ 1]) + cubin[at + 1 :]


def test_a_skeleton_keeps_line_tables_and_nothing_to_run(cubin: bytes) -> None:
    bones = skeleton(cubin)
    assert (len(bones), skeleton(bones)) == (len(cubin), bones)
    for section in ELFFile(BytesIO(bones)).iter_sections():
        if section.name.startswith((".text", ".nv.", ".strtab", ".symtab")):
            assert not any(section.data())
    assert any(ELFFile(BytesIO(bones)).get_section_by_name(".debug_line").data())


def test_other_line_tables_are_looked_past(cubin: bytes) -> None:
    other = changed(cubin, ".debug_line")
    assert other != cubin
    assert restored(skeleton(cubin), other) == cubin


@pytest.mark.parametrize("section", [".text.", ".nv.info", ".symtab", ".strtab", ".debug_frame"])
def test_no_other_difference_is(cubin: bytes, section: str) -> None:
    assert restored(skeleton(cubin), changed(cubin, section)) != cubin


def test_sections_that_do_not_pair_up(cubin: bytes) -> None:
    named = cubin.replace(b".debug_frame\0", b".debug_frames\0"[:12] + b"x")
    assert restored(skeleton(cubin), named) != cubin
    with pytest.raises(BadInput, match="no ELF file"):
        restored(skeleton(cubin), b"\x7fELF")


def test_it_is_shown_only_with_the_skeleton_at_hand(tmp_path: Path, cubin: bytes) -> None:
    other = tmp_path / "k.cubin"
    other.write_bytes(changed(cubin, ".debug_line"))
    digest = sha256_bytes(cubin)
    assert not differ_in_line_tables_alone(tmp_path, digest, other)
    path = keep_skeleton(tmp_path, cubin)
    assert path.name == f"{digest}.xz"
    assert differ_in_line_tables_alone(tmp_path, digest, other)


@pytest.mark.parametrize("forged", [b"", b"no archive", lzma.compress(b"no ELF")])
def test_a_skeleton_that_is_none_shows_nothing(tmp_path: Path, cubin: bytes, forged: bytes) -> None:
    other = tmp_path / "k.cubin"
    other.write_bytes(changed(cubin, ".debug_line"))
    keep_skeleton(tmp_path, cubin).write_bytes(forged)
    assert not differ_in_line_tables_alone(tmp_path, sha256_bytes(cubin), other)


def test_the_digest_of_machine_code_looks_past_line_tables_and_names_of_files(cubin: bytes) -> None:
    """nvcc puts digits of a source's content into internal names: a comment changes them."""
    text = next(s for s in ELFFile(BytesIO(cubin)).iter_sections() if s.name == ".strtab")
    at = text["sh_offset"]

    def named(digits: bytes) -> bytes:
        name = b"_ZN43_GLOBAL__N__" + digits + b"_10_bsr_mma_cu_"
        return cubin[:at] + name + cubin[at + len(name) :]

    one, other = named(b"66d12cec"), named(b"ed68cbef")
    assert code_digest([one]) == code_digest([other])
    assert code_digest([one]) == code_digest([changed(one, ".debug_line")])
    assert code_digest([one]) != code_digest([changed(one, ".text.")])
    assert code_digest([one]) != code_digest([one, one])


@pytest.mark.compiler
def test_the_cubins_of_the_record_lie_in_the_library_as_they_are(
    root: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    """So equal cubins mean equal device code, whatever the host code around them is."""
    place = make_tree(root, tmp_path / "place")
    lock = toolchain_lock_digest(root)
    job = describe(place, catalog(), "variant", "small", "sm_90a", lock)
    with compiled(job, Tree(place), toolchain) as outcome:
        assert outcome.artifact is not None, outcome.diagnostics
        images = {sha256_bytes(cubin) for cubin in cubins_inside(outcome.artifact)}
        kept = outcome.artifact.parent / "keep"
        linked = {sha256_file(path) for path in kept.glob("*_dlink.cubin")}
        assert images - linked == {cubin.sha256 for cubin in outcome.cubins}

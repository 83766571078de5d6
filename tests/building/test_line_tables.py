"""The digest of machine code looks past line tables, and past nothing else."""

import lzma
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from assay.base.errors import BadInput
from assay.building.line_tables import code_digest

CUBIN = Path(__file__).with_name("cubin.xz")
"""A published cubin's layout and line tables; other sections are blank."""


@pytest.fixture(scope="module")
def cubin() -> bytes:
    return lzma.decompress(CUBIN.read_bytes())


def changed(cubin: bytes, section: str, bytes_: bytes = b"\1") -> bytes:
    """The cubin with other bytes in the section that starts like this."""
    found = next(s for s in ELFFile(BytesIO(cubin)).iter_sections() if s.name.startswith(section))
    at = found["sh_offset"] + 8
    return cubin[:at] + bytes_ + cubin[at + len(bytes_) :]


@pytest.mark.parametrize(
    ("section", "same"),
    [(".debug_line", True), (".text.", False), (".nv.info", False), (".strtab", False)],
)
def test_other_bytes_of_a_section(cubin: bytes, section: str, same: bool) -> None:
    other = changed(cubin, section, b"\xff")
    assert other != cubin
    assert (code_digest([other]) == code_digest([cubin])) is same


def test_digits_of_a_source_in_internal_names_do_not_count(cubin: bytes) -> None:
    """A comment changes them."""
    one, other = (
        changed(cubin, ".strtab", b"_ZN43_GLOBAL__N__" + digits + b"_10_bsr_mma_cu_")
        for digits in (b"66d12cec", b"ed68cbef")
    )
    assert one != other
    assert code_digest([one]) == code_digest([other]) != code_digest([one, one])


def test_no_elf_file() -> None:
    with pytest.raises(BadInput, match="no ELF file"):
        code_digest([b"\x7fELF"])

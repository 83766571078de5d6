"""Machine code without its line tables, in which a host compiler leaves its headers."""

import re
from collections.abc import Iterable
from io import BytesIO

from assay.base.errors import BadInput
from assay.shared.files import sha256_bytes

OPTION = "-lineinfo"
SECTIONS = (
    ".debug_line",
    ".rel.debug_line",
    ".rela.debug_line",
    ".nv.merc.debug_line",
    ".nv.merc.rela.debug_line",
)
"""The line tables and their relocations; from sm_100 on a cubin holds a second table."""

_FILE_ID = re.compile(rb"(?<=_GLOBAL__N__)[0-9a-f]{8}(?=_)")
"""In the mangled names of what has internal linkage: eight digits, by what the file holds."""
_NO_FILE_ID = b"0" * 8


def code_digest(cubins: Iterable[bytes]) -> str:
    """Return the digest of machine code: equal for sources that compile to the same instructions.

    Line tables are left out, and so is what nvcc makes of a source's content to tell its internal
    names from those of other files. Raises BadInput for no ELF file.
    """
    listed = []
    for cubin in cubins:
        for name, start, size in _sections(cubin):
            content = _FILE_ID.sub(_NO_FILE_ID, cubin[start : start + size])
            plain = _FILE_ID.sub(_NO_FILE_ID, name.encode()).decode()
            listed.append(f"{sha256_bytes(content)}  {plain}\n")
    return sha256_bytes("".join(listed).encode())


def _sections(data: bytes) -> list[tuple[str, int, int]]:
    """Return name, offset and size of every section with contents that is no line table, in the
    file's order. Raises BadInput.
    """
    # It takes a tenth of a second to load, and a build from the cache needs none of it.
    from elftools.common.exceptions import ELFError  # noqa: PLC0415
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

    try:
        return [
            (section.name, section["sh_offset"], section["sh_size"])
            for section in ELFFile(BytesIO(data)).iter_sections()
            if section["sh_type"] not in {"SHT_NULL", "SHT_NOBITS"} and section.name not in SECTIONS
        ]
    except (ELFError, UnicodeDecodeError, ValueError, KeyError, OverflowError) as error:
        raise BadInput(f"is no ELF file that can be read: {error}") from error

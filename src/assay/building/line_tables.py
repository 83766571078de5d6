"""Machine code: its digest without line tables, in which a host compiler leaves its headers, and
what its instructions and blocks are.
"""

import math
import re
import struct
from collections import Counter
from collections.abc import Iterable
from io import BytesIO

from assay.base.errors import BadInput
from assay.shared.files import sha256_bytes

OPTION = "-lineinfo"
SECTIONS = (
    ".debug_line", ".rel.debug_line", ".rela.debug_line", ".nv.merc.debug_line",
    ".nv.merc.rela.debug_line",
)  # fmt: skip
"""The line tables and their relocations; from sm_100 on a cubin holds a second table."""

_FILE_ID = re.compile(rb"(?<=_GLOBAL__N__)[0-9a-f]{8}(?=_)")
"""In the mangled names of what has internal linkage: eight digits, by what the file holds."""
_NO_FILE_ID = b"0" * 8

OPERATIONS = {
    0x03C: "HMMA", 0x1F0: "HGMMA", 0x1F3: "QGMMA",
    0x03B: "LDSM", 0x1AE: "LDGSTS", 0x1B4: "UTMALDG",
}  # fmt: skip
"""Products on tensor cores, fragments from shared memory, asynchronous copies into it: the lowest
nine bits of an instruction's 16 bytes on sm_80 to sm_90a, as cuobjdump shows them."""


def count_instructions(cubins: Iterable[bytes]) -> dict[str, int]:
    """Return how many there are of each of OPERATIONS that there are. Raises BadInput."""
    found: Counter[int] = Counter()
    for cubin in cubins:
        for name, start, size in _sections(cubin):
            if name.startswith(".text."):
                words = memoryview(cubin)[start : start + size].cast("Q")
                found.update(word & 0x1FF for word in words[::2])
    return {name: found[code] for code, name in OPERATIONS.items() if found[code]}


MAX_THREADS = 0x0504
"""What opens an attribute that holds the bounds of a block in three dimensions: its form, that of
one with a size, below its number."""
SIZED = 0x04


def block_threads(cubins: Iterable[bytes]) -> dict[str, int]:
    """Return how many threads a block of each kernel may have at most, by the kernel's mangled
    name, where the source bounds them (``__launch_bounds__``). Raises BadInput.
    """
    found = {}
    for cubin in cubins:
        for name, start, size in _sections(cubin):
            at = start
            while name.startswith(".nv.info.") and at < start + size:
                head, length = struct.unpack_from("<HH", cubin, at)
                if head == MAX_THREADS:
                    bounds = struct.unpack_from("<3I", cubin, at + 4)
                    found[name.removeprefix(".nv.info.")] = math.prod(bounds)
                at += 4 + (length if head & 0xFF == SIZED else 0)
    return found


def symbol_sizes(data: bytes) -> dict[str, int]:
    """Return the bytes that each symbol of an object file takes."""
    # As for _sections.
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415
    from elftools.elf.sections import SymbolTableSection  # noqa: PLC0415

    return {
        symbol.name: symbol["st_size"]
        for section in ELFFile(BytesIO(data)).iter_sections()
        if isinstance(section, SymbolTableSection)
        for symbol in section.iter_symbols()
    }


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
    """Return name, offset, size of sections but line tables, in order. Raises BadInput."""
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

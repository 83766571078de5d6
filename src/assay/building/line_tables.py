"""Line tables in device code: all that a host compiler leaves in a cubin, and how to look past it.

``-lineinfo`` puts a table of source files into the cubin, with folder, date and size of each; some
are headers of the host compiler's C++ library. A *skeleton* is a cubin with every other section
blanked. Filled with the sections of a cubin that another host compiler made, it is the first cubin
again, byte for byte, exactly if nothing but line tables differs: a digest then proves it, wherever
the skeleton came from.
"""

import lzma
import re
import struct
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from assay.base.errors import BadInput
from assay.shared.files import sha256_bytes, write_bytes

OPTION = "-lineinfo"
SECTIONS = (
    ".debug_line",
    ".rel.debug_line",
    ".rela.debug_line",
    ".nv.merc.debug_line",
    ".nv.merc.rela.debug_line",
)
"""The line tables and their relocations; from sm_100 on a cubin holds a second table."""
NAMES = ".shstrtab"
"""Names of the sections: a skeleton keeps them, for by them the others are found."""
FOLDER = "config/line_tables"
"""Where the repository keeps skeletons, each under the digest of its cubin."""

FATBIN = ".nv_fatbin"
_CONTAINER = 0xBA55ED50
"""First word of a fatbin; then u16 version, u16 header size, u64 size of what follows."""
_MACHINE_CODE = 2
"""Kind of an entry that holds a cubin; 1 is PTX."""
_UNREADABLE = (ELFError, UnicodeDecodeError, ValueError, KeyError, OverflowError)
"""What pyelftools raises for a damaged file."""
_FILE_ID = re.compile(rb"(?<=_GLOBAL__N__)[0-9a-f]{8}(?=_)")
"""In the mangled names of what has internal linkage: eight digits, by what the file holds."""
_NO_FILE_ID = b"0" * 8


def section_places(data: bytes) -> list[tuple[str, int, int]]:
    """Return name, offset and size of every section of an ELF file that has contents, in its order.

    Raises BadInput.
    """
    try:
        return [
            (section.name, section["sh_offset"], section["sh_size"])
            for section in ELFFile(BytesIO(data)).iter_sections()
            if section["sh_type"] not in {"SHT_NULL", "SHT_NOBITS"}
        ]
    except _UNREADABLE as error:
        raise BadInput(f"is no ELF file that can be read: {error}") from error


def cubins_inside(path: Path) -> tuple[bytes, ...]:
    """Return every cubin inside a library or program, in the order of the file.

    They are stored as they are: nvcc compresses PTX, and here is none. Raises BadInput for what is
    no ELF file, or holds a fatbin of a form unknown here, OSError.
    """
    data = path.read_bytes()
    try:
        return tuple(
            cubin
            for name, start, size in section_places(data)
            if name == FATBIN
            for cubin in _cubins(data[start : start + size])
        )
    except (struct.error, ValueError) as error:
        raise BadInput(f"{path}: its device code cannot be read: {error}") from error


def _cubins(data: bytes) -> Iterator[bytes]:
    """The cubins in a .nv_fatbin section: containers, each with entries, padded with zeros."""
    at = 0
    while at + 16 <= len(data):
        magic, _, header, size = struct.unpack_from("<IHHQ", data, at)
        if magic == 0:  # padding between containers
            at += 8
            continue
        if magic != _CONTAINER:
            raise ValueError(f"no container at offset {at}")
        entry, end = at + header, at + header + size
        while entry < end:
            kind, _, head, length = struct.unpack_from("<HHIQ", data, entry)
            if head == 0:
                raise ValueError(f"no entry at offset {entry}")
            if kind == _MACHINE_CODE:
                yield data[entry + head : entry + head + length]
            entry += head + length
        at = end


def skeleton(cubin: bytes) -> bytes:
    """Return ``cubin`` with zeros for the contents of every section but its line tables.

    Raises BadInput for no ELF file.
    """
    blank = bytearray(cubin)
    for name, start, size in _others(cubin):
        if name == NAMES:
            continue
        blank[start : start + size] = bytes(size)
    return bytes(blank)


def restored(bones: bytes, cubin: bytes) -> bytes | None:
    """Return a skeleton with the sections of ``cubin``, or None.

    None where these are others, or of other sizes. Raises BadInput where one is no ELF file.
    """
    wanted, given = _others(bones), _others(cubin)
    if [(name, size) for name, _, size in wanted] != [(name, size) for name, _, size in given]:
        return None
    whole = bytearray(bones)
    for (_, to, size), (_, start, _) in zip(wanted, given, strict=True):
        whole[to : to + size] = cubin[start : start + size]
    return bytes(whole)


def code_digest(cubins: Iterable[bytes]) -> str:
    """Return the digest of machine code: equal for sources that compile to the same instructions.

    Line tables are left out, and so is what nvcc makes of a source's content to tell its internal
    names from those of other files. Raises BadInput for no ELF file.
    """
    listed = []
    for cubin in cubins:
        for name, start, size in _others(cubin):
            content = _FILE_ID.sub(_NO_FILE_ID, cubin[start : start + size])
            plain = _FILE_ID.sub(_NO_FILE_ID, name.encode()).decode()
            listed.append(f"{sha256_bytes(content)}  {plain}\n")
    return sha256_bytes("".join(listed).encode())


def differ_in_line_tables_alone(root: Path, sha256: str, cubin: Path) -> bool:
    """Return whether ``cubin`` is, but for its line tables, the one that has the digest ``sha256``.

    False where that cannot be shown, because the repository ``root`` has no skeleton for it.
    """
    path = skeleton_path(root, sha256)
    try:
        whole = restored(lzma.decompress(path.read_bytes()), cubin.read_bytes())
    except (OSError, lzma.LZMAError, BadInput):
        return False
    return whole is not None and sha256_bytes(whole) == sha256


def keep_skeleton(root: Path, cubin: bytes) -> Path:
    """Keep the skeleton of a cubin for those who compile it elsewhere; returns its file."""
    path = skeleton_path(root, sha256_bytes(cubin))
    write_bytes(path, lzma.compress(skeleton(cubin), preset=9 | lzma.PRESET_EXTREME))
    return path


def skeleton_path(root: Path, sha256: str) -> Path:
    """Return where the skeleton of the cubin with this digest lies."""
    return root / FOLDER / f"{sha256}.xz"


def _others(data: bytes) -> list[tuple[str, int, int]]:
    """Every section with contents that is no line table, in the file's order. Raises BadInput."""
    return [place for place in section_places(data) if place[0] not in SECTIONS]

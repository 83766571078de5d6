"""Line tables in device code: all that a host compiler leaves in a cubin, and how to look past it.

``-lineinfo`` puts a table of source files into the cubin, with folder, date and size of each; some
are headers of the host compiler's C++ library. A *skeleton* is a cubin with every other section
blanked. Filled with the sections of a cubin that another host compiler made, it is the first cubin
again, byte for byte, exactly if nothing but line tables differs: a digest then proves it, wherever
the skeleton came from.
"""

import lzma
import re
from collections.abc import Iterable
from pathlib import Path

from assay.base.errors import BadInput
from assay.building.binary_diff import SectionPlace, section_places
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

_FILE_ID = re.compile(rb"(?<=_GLOBAL__N__)[0-9a-f]{8}(?=_)")
"""In the mangled names of what has internal linkage: eight digits, by what the file holds."""
_NO_FILE_ID = b"0" * 8


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


def _others(data: bytes) -> list[SectionPlace]:
    """Every section with contents that is no line table, in the file's order. Raises BadInput."""
    return [place for place in section_places(data) if place[0] not in SECTIONS]

"""Differences between two builds of one artifact: by ELF section, in bytes, with their meaning."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from assay.base.errors import BadInput
from assay.shared.counting import agreeing, counted

FATBIN = ".nv_fatbin"
OUTSIDE = "(headers and padding)"
"""Bytes of the file that belong to no section."""
_CONTAINER = 0xBA55ED50
"""First word of a fatbin; then u16 version, u16 header size, u64 size of what follows."""
_MACHINE_CODE = 2
"""Kind of an entry that holds a cubin; 1 is PTX."""

MEANINGS = {
    FATBIN: "device code",
    ".nvFatBinSegment": "pointer to the device code",
    ".text": "host code: another g++, or other code linked in",
    ".init": "start-up code of the C library's crt files",
    ".fini": "start-up code of the C library's crt files",
    ".plt": "calls into shared libraries",
    ".plt.got": "calls into shared libraries",
    ".got": "addresses laid out by the linker",
    ".got.plt": "addresses laid out by the linker",
    ".rodata": "constants of host code",
    ".data": "initial values of host code",
    ".data.rel.ro": "addresses in host code's constants",
    ".init_array": "addresses of host code's start-up functions",
    ".fini_array": "addresses of host code's exit functions",
    ".eh_frame": "unwind tables of host code",
    ".eh_frame_hdr": "unwind tables of host code",
    ".gcc_except_table": "unwind tables of host code",
    ".dynsym": "names shared with other libraries",
    ".dynstr": "names shared with other libraries",
    ".gnu.hash": "names shared with other libraries",
    ".gnu.version": "versions of the C and C++ libraries",
    ".gnu.version_r": "versions of the C and C++ libraries",
    ".dynamic": "addresses laid out by the linker",
    ".rela.dyn": "relocations of host code",
    ".rela.plt": "relocations of host code",
    ".symtab": "names of host functions",
    ".strtab": "names of host functions",
    ".shstrtab": "names of sections",
    ".comment": "version string of the host compiler",
    ".note.gnu.build-id": "digest over all else, made by the linker",
    ".note.gnu.property": "properties of host code",
    ".interp": "path of the dynamic loader",
    OUTSIDE: "addresses and sizes of the sections",
}
CUBIN_MEANINGS = (
    (".text.", "machine code of a kernel"),
    (".nv.constant", "constants and parameters of a kernel"),
    (".nv.info", "resources of a kernel"),
    (".nv.", "device code"),
    (".symtab", "names of kernels"),
    (".strtab", "names of kernels"),
    (".shstrtab", "names of sections"),
    (".note.nv", "versions of the CUDA tools"),
    (".debug", "line tables and debug information"),
    (".nv_debug", "line tables and debug information"),
)
EM_CUDA = 190
_UNREADABLE = (ELFError, UnicodeDecodeError, ValueError, KeyError)
"""What pyelftools raises for a damaged file."""


@dataclass(frozen=True)
class SectionDifference:
    """One section that is not the same in both files."""

    name: str
    sizes: tuple[int | None, int | None]
    """Bytes in the first and in the second file; None where it is absent."""
    different: int
    """Bytes that differ at the same offset, plus what one has more than the other."""
    meaning: str
    is_device_code: bool

    def __str__(self) -> str:
        """As .text 12 of 400 bytes (host code)."""
        first, second = self.sizes
        if first is None or second is None:
            return f"{self.name} in one of them only ({self.meaning})"
        size = f"{first}" if first == second else f"{first} and {second}"
        unit = agreeing(max(first, second), "byte", "bytes")
        return f"{self.name} {self.different} of {size} {unit} ({self.meaning})"


@dataclass(frozen=True)
class _File:
    sections: dict[str, bytes]
    is_device_code: bool


def differences(first: Path, second: Path) -> tuple[SectionDifference, ...]:
    """Return the sections that differ, in the first file's order; of device code, the cubins' own.

    Raises BadInput for what is no ELF file.
    """
    one, two = _read(first), _read(second)
    found: list[SectionDifference] = []
    for old, new, name in _pairs(one, two):
        inside = _device_differences(old, new) if name == FATBIN else ()
        found += inside or [_difference(name, old, new, one.is_device_code)]
    return tuple(found)


def _pairs(one: _File, two: _File) -> Iterator[tuple[bytes | None, bytes | None, str]]:
    """Sections that are not equal; None for one that is absent."""
    for name in dict.fromkeys([*one.sections, *two.sections]):
        old, new = one.sections.get(name), two.sections.get(name)
        if old != new:
            yield old, new, name


def _device_differences(old: bytes | None, new: bytes | None) -> list[SectionDifference]:
    """Return where the cubins in two .nv_fatbin sections differ; empty when they do not pair up."""
    try:
        ones, twos = list(_images(old or b"")), list(_images(new or b""))
        if len(ones) != len(twos):
            return []
        return [
            _difference(f"{FATBIN}[{number}]{name}", before, after, True, name)
            for number, (one, two) in enumerate(zip(ones, twos, strict=True))
            for before, after, name in _pairs(_parse(one), _parse(two))
        ]
    except (struct.error, *_UNREADABLE):
        return []


def _difference(
    label: str, old: bytes | None, new: bytes | None, is_device_code: bool, name: str | None = None
) -> SectionDifference:
    sizes = (None if old is None else len(old), None if new is None else len(new))
    meaning = _meaning(name or label, is_device_code)
    return SectionDifference(
        label, sizes, _different(old or b"", new or b""), meaning, is_device_code or label == FATBIN
    )


def cubins_inside(path: Path) -> tuple[bytes, ...]:
    """Return every cubin inside a library or program, in the order of the file.

    Images are stored as they are: nvcc compresses PTX, and here is none. Raises BadInput for what
    is no ELF file, or holds a fatbin of a form unknown here.
    """
    data = _read(path).sections.get(FATBIN, b"")
    try:
        return tuple(_images(data))
    except (struct.error, ValueError) as error:
        raise BadInput(f"{path}: its device code cannot be read: {error}") from error


def explain(found: Sequence[SectionDifference]) -> str:
    """Return one sentence: whether device code differs, and what else, by meaning."""
    if not found:
        return "no byte differs"
    same = not any(entry.is_device_code for entry in found)
    start = "the device code is the same, byte for byte" if same else "the device code differs"
    groups: dict[str, list[SectionDifference]] = {}
    for entry in sorted(found, key=lambda entry: not entry.is_device_code):
        groups.setdefault(entry.meaning, []).append(entry)
    parts = [
        f"{counted(sum(entry.different for entry in group), 'byte')} of "
        f"{', '.join(entry.name for entry in group)} ({meaning})"
        for meaning, group in groups.items()
    ]
    return f"{start}; different are {'; '.join(parts)}"


def _read(path: Path) -> _File:
    try:
        return _parse(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except _UNREADABLE as error:
        raise BadInput(f"{path}: is no ELF file that can be read: {error}") from error


def _parse(data: bytes) -> _File:
    """Every section's bytes; raises one of ``_UNREADABLE``."""
    sections: dict[str, bytes] = {}
    outside = bytearray(data)
    elf = ELFFile(BytesIO(data))
    for section in elf.iter_sections():
        if section["sh_type"] in {"SHT_NULL", "SHT_NOBITS"}:
            continue
        start, size = section["sh_offset"], section["sh_size"]
        sections[_unused(section.name, sections)] = data[start : start + size]
        outside[start : start + size] = bytes(len(outside[start : start + size]))
    sections[OUTSIDE] = bytes(outside)
    return _File(sections, elf["e_machine"] in {EM_CUDA, "EM_CUDA"})


def _unused(name: str, taken: dict[str, bytes]) -> str:
    """A section's name; one that comes again gets a number."""
    count = 2
    unused = name
    while unused in taken:
        unused, count = f"{name}#{count}", count + 1
    return unused


def _images(data: bytes) -> Iterator[bytes]:
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
            image = data[entry + head : entry + head + length]
            if kind == _MACHINE_CODE:
                if not image.startswith(b"\x7fELF"):
                    raise ValueError("it is compressed")
                yield image
            entry += head + length
        at = end


def _different(old: bytes, new: bytes) -> int:
    return sum(a != b for a, b in zip(old, new, strict=False)) + abs(len(old) - len(new))


def _meaning(name: str, is_device_code: bool) -> str:
    if is_device_code:
        for start, meaning in CUBIN_MEANINGS:
            if name.startswith(start):
                return meaning
        return "device code" if name != OUTSIDE else MEANINGS[OUTSIDE]
    return MEANINGS.get(name.split("#", maxsplit=1)[0], "not told apart here")

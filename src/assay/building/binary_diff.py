"""Sections of binaries and of the device code inside, and where two builds differ."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from assay.base.errors import BadInput
from assay.shared.counting import counted

FATBIN = ".nv_fatbin"
OUTSIDE = "(headers and padding)"
"""Bytes of the file that belong to no section."""
_CONTAINER = 0xBA55ED50
"""First word of a fatbin; then u16 version, u16 header size, u64 size of what follows."""
_MACHINE_CODE = 2
"""Kind of an entry that holds a cubin; 1 is PTX."""
_CUDA = (190).to_bytes(2, "little")
"""The machine of an ELF file, at offset 18, where it is a cubin."""
_UNREADABLE = (ELFError, UnicodeDecodeError, ValueError, KeyError, OverflowError)
"""What pyelftools raises for a damaged file."""

SectionPlace = tuple[str, int, int]
"""Name, offset and size of a section."""


@dataclass(frozen=True)
class SectionDifference:
    """One section that is not the same in both files."""

    name: str
    different: int
    """Bytes that differ at the same offset, plus what one has more than the other."""
    is_device_code: bool


def section_places(data: bytes) -> list[SectionPlace]:
    """Return every section of an ELF file that has contents, in its order. Raises BadInput."""
    try:
        return [
            (section.name, section["sh_offset"], section["sh_size"])
            for section in ELFFile(BytesIO(data)).iter_sections()
            if section["sh_type"] not in {"SHT_NULL", "SHT_NOBITS"}
        ]
    except _UNREADABLE as error:
        raise BadInput(f"is no ELF file that can be read: {error}") from error


def differences(first: Path, second: Path) -> tuple[SectionDifference, ...]:
    """Return the sections that differ, in the first file's order; of device code, the cubins' own.

    Raises BadInput for what is no ELF file.
    """
    one, two = _read(first), _read(second)
    found: list[SectionDifference] = []
    for name, old, new in _pairs(one, two):
        inside = _inside_fatbin(old, new) if name == FATBIN else []
        is_device_code = name == FATBIN or first.read_bytes()[18:20] == _CUDA
        found += inside or [SectionDifference(name, _different(old, new), is_device_code)]
    return tuple(found)


def explain(found: Sequence[SectionDifference]) -> str:
    """Return one sentence: whether device code differs, and which sections do."""
    if not found:
        return "no byte differs"
    same = not any(entry.is_device_code for entry in found)
    start = "the device code is the same, byte for byte" if same else "the device code differs"
    first = sorted(found, key=lambda entry: not entry.is_device_code)
    listed = ", ".join(f"{counted(entry.different, 'byte')} of {entry.name}" for entry in first)
    return f"{start}; different are {listed}"


def cubins_inside(path: Path) -> tuple[bytes, ...]:
    """Return every cubin inside a library or program, in the order of the file.

    Images are stored as they are: nvcc compresses PTX, and here is none. Raises BadInput for what
    is no ELF file, or holds a fatbin of a form unknown here.
    """
    data = _read(path).get(FATBIN, b"")
    try:
        return tuple(_images(data))
    except (struct.error, ValueError) as error:
        raise BadInput(f"{path}: its device code cannot be read: {error}") from error


def _read(path: Path) -> dict[str, bytes]:
    try:
        return _sections(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def _sections(data: bytes) -> dict[str, bytes]:
    """Every section's bytes by its name; one that comes again gets a number. Raises BadInput."""
    sections: dict[str, bytes] = {}
    outside = bytearray(data)
    for name, start, size in section_places(data):
        again = sum(known.partition("#")[0] == name for known in sections)
        sections[f"{name}#{again + 1}" if again else name] = data[start : start + size]
        outside[start : start + size] = bytes(len(outside[start : start + size]))
    sections[OUTSIDE] = bytes(outside)
    return sections


def _pairs(one: dict[str, bytes], two: dict[str, bytes]) -> Iterator[tuple[str, bytes, bytes]]:
    """Sections that are not equal; empty for one that is absent."""
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) != two.get(name):
            yield name, one.get(name, b""), two.get(name, b"")


def _inside_fatbin(old: bytes, new: bytes) -> list[SectionDifference]:
    """Return where the cubins in two .nv_fatbin sections differ; empty when they do not pair up."""
    try:
        ones, twos = list(_images(old)), list(_images(new))
        return [
            SectionDifference(f"{FATBIN}[{number}]{name}", _different(before, after), True)
            for number, (one, two) in enumerate(zip(ones, twos, strict=True))
            for name, before, after in _pairs(_sections(one), _sections(two))
        ]
    except (struct.error, ValueError, BadInput):
        return []


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

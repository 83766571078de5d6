"""One layer with the same bytes everywhere: a tar archive sorted, dated and cleaned.

Two passes over a file system's tar archive, which lies in a file: the first reads headers only, the
second copies contents. Memory grows with the number of files, by less than a kilobyte each.
"""

import copy
import hashlib
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from assay.images.disk import CHUNK

FORMAT = 1
"""Counts changes of this module that change a layer's bytes."""
BLOCK = tarfile.BLOCKSIZE

EMPTIED = {
    # Directories whose content belongs to one run, with the mode they get.
    "dev": 0o755,
    "proc": 0o555,
    "run": 0o755,
    "sys": 0o555,
    "tmp": 0o1777,
    "var/tmp": 0o1777,
}
BLANK = ("etc/hostname", "etc/hosts", "etc/resolv.conf")
"""Files that engines write into each container; empty in the layer."""
FILES_DROPPED_BELOW = ("var/cache", "var/lib/apt/lists", "var/log")
"""Their directories stay, since programs expect them."""
DROPPED = (".dockerenv", "root/.cache", "root/.local", "root/.python_history", "etc/mtab")
"""Gone with all below; /etc/mtab is made anew."""
MTAB = ("etc/mtab", "/proc/mounts")


@dataclass
class Entry:
    """One member of the new archive."""

    info: tarfile.TarInfo
    offset: int | None = None
    """Where its content starts in the old archive; None for an entry without content."""


@dataclass(frozen=True)
class Layer:
    """A layer as it was written."""

    sha256: str
    content_bytes: int
    """Sum of the sizes of its files."""


@dataclass
class _Index:
    entries: dict[str, Entry] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    """Hard link to what it names."""


def clean_name(name: str) -> str:
    """Return a member's name without leading ./ or / and trailing slash."""
    while name.startswith(("./", "/")):
        name = name.removeprefix("./").lstrip("/")
    return "" if name == "." else name.rstrip("/")


def is_dropped(name: str, *, directory: bool) -> bool:
    """Return whether an entry has no place in a layer."""
    below = f"{name}/"
    return (
        name in ("", *BLANK)
        or below.startswith(tuple(f"{gone}/" for gone in (*EMPTIED, *DROPPED)))
        or (not directory and name.startswith(tuple(f"{one}/" for one in FILES_DROPPED_BELOW)))
        or "__pycache__" in name.split("/")
        or name.endswith(".pyc")
    )


def read_index(source: BinaryIO, epoch: int) -> list[Entry]:
    """Entries of the new layer in order, from the archive in ``source``.

    Devices, pipes, extended attributes and names of owners are left out; nothing is dated after
    ``epoch``. Among hard links the first in order holds the content. Raises tarfile.TarError.
    """
    index = _Index()
    with tarfile.open(fileobj=source, mode="r:") as archive:
        for member in archive:
            del archive.members[:]  # type: ignore[attr-defined] # it would keep every header
            _take(index, member, epoch)
    _resolve(index)
    for name, mode in EMPTIED.items():
        index.entries[name] = Entry(_made(name, tarfile.DIRTYPE, mode, epoch))
    for name in BLANK:
        index.entries[name] = Entry(_made(name, tarfile.REGTYPE, 0o644, epoch))
    mtab = _made(MTAB[0], tarfile.SYMTYPE, 0o777, epoch)
    mtab.linkname = MTAB[1]
    index.entries[mtab.name] = Entry(mtab)
    _add_parents(index, epoch)
    return [index.entries[name] for name in sorted(index.entries, key=_order)]


def _order(name: str) -> list[bytes]:
    """A directory stands before what it holds, whatever characters follow."""
    return [part.encode("utf-8", "surrogateescape") for part in name.split("/")]


def _take(index: _Index, member: tarfile.TarInfo, epoch: int) -> None:
    name = clean_name(member.name)
    if is_dropped(name, directory=member.isdir()) or member.isdev():
        return
    if member.islnk():
        index.links[name] = clean_name(member.linkname)
        return
    kind = tarfile.REGTYPE if member.isreg() else member.type
    info = _made(name, kind, member.mode & 0o7777, epoch)
    info.uid, info.gid = member.uid, member.gid
    if member.issym():
        info.linkname, info.mode = member.linkname, 0o777
    if member.isreg():
        if member.sparse is not None:
            raise tarfile.TarError(f"{name} is stored as a sparse file, which is not read here")
        info.size = member.size
    if not member.isdir():
        # A directory's date tells when an engine last touched it.
        info.mtime = min(int(member.mtime), epoch)
    index.entries[name] = Entry(info, member.offset_data if member.isreg() else None)


def _made(name: str, kind: bytes, mode: int, epoch: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime = kind, mode, epoch
    return info


def _resolve(index: _Index) -> None:
    """Give each group of hard links its content at its first name; the others point there."""
    groups: dict[str, list[str]] = {}
    for name, first in index.links.items():
        target, seen = first, {name}
        while target in index.links and target not in seen:
            seen.add(target)
            target = index.links[target]
        groups.setdefault(target, []).append(name)
    for target, names in groups.items():
        holder = index.entries.pop(target, None)
        if holder is None:
            raise tarfile.TarError(f"{names[0]} is a link to {target}, which is not in the archive")
        first, *others = sorted([target, *names], key=_order)
        index.entries[first] = Entry(_renamed(holder.info, first), holder.offset)
        for name in others:
            info = _renamed(holder.info, name)
            info.type, info.linkname, info.size = tarfile.LNKTYPE, first, 0
            index.entries[name] = Entry(info)


def _renamed(info: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    other = copy.copy(info)
    other.name = name
    return other


def _add_parents(index: _Index, epoch: int) -> None:
    for name in list(index.entries):
        parent = name.rpartition("/")[0]
        while parent and parent not in index.entries:
            index.entries[parent] = Entry(_made(parent, tarfile.DIRTYPE, 0o755, epoch))
            parent = parent.rpartition("/")[0]


def header(entry: Entry) -> bytes:
    """Return the header blocks of an entry."""
    return entry.info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def layer_size(entries: list[Entry]) -> int:
    """Return bytes of the archive that ``layer_chunks`` gives."""
    content = sum(-(-entry.info.size // BLOCK) * BLOCK for entry in entries)
    return sum(len(header(entry)) for entry in entries) + content + 2 * BLOCK


def layer_chunks(source: BinaryIO, entries: list[Entry]) -> Iterator[bytes]:
    """Yield the new archive, a piece at a time. Raises tarfile.TarError when ``source`` ends
    early.
    """
    for entry in entries:
        yield header(entry)
        if entry.offset is None:
            continue
        source.seek(entry.offset)
        left = entry.info.size
        while left:
            chunk = source.read(min(CHUNK, left))
            if not chunk:
                raise tarfile.TarError("the archive ends early")
            left -= len(chunk)
            yield chunk
        yield bytes(-entry.info.size % BLOCK)
    yield bytes(2 * BLOCK)


def write_layer(source: Path, entries: list[Entry], output: BinaryIO) -> Layer:
    """Write the new archive to ``output``."""
    digest = hashlib.sha256()
    with source.open("rb") as stream:
        for chunk in layer_chunks(stream, entries):
            digest.update(chunk)
            output.write(chunk)
    return Layer(digest.hexdigest(), sum(entry.info.size for entry in entries))


def normalise(source: Path, output: Path, epoch: int) -> Layer:
    """Write ``source``'s file system as a normalised archive. Raises tarfile.TarError, OSError."""
    with source.open("rb") as stream:
        entries = read_index(stream, epoch)
    with output.open("wb") as stream:
        layer = write_layer(source, entries, stream)
        stream.flush()
        os.fsync(stream.fileno())
    return layer

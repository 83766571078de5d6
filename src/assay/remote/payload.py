"""What is copied to a machine: this checkout's files or a bundle, given inputs, the run's command.

No key that signs is among it. Equal contents have an equal stamp, by which nothing is copied twice.
"""

import gzip
import io
import os
import re
import shlex
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.base.errors import BadInput
from assay.shared.files import sha256_bytes, sha256_file

ODD = re.compile(r"[^\w.+@,=-]")
LEFT_OUT = frozenset({".git", "__pycache__", "results", "reports"})
"""Folders of a project that stay: a run there makes its own."""
BUNDLE = "bundle.tar"
FAST = 1
"""gzip's level: a line is about as fast."""


@dataclass(frozen=True)
class Copied:
    """One file there, from a file here or from a text."""

    name: str
    """Below the folder there."""
    source: Path | bytes
    mode: int = 0o644

    @property
    def size(self) -> int:
        """Return its bytes."""
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size

    @property
    def sha256(self) -> str:
        """Return the digest of its content."""
        if isinstance(self.source, bytes):
            return sha256_bytes(self.source)
        return sha256_file(self.source)


@dataclass(frozen=True)
class Payload:
    """All files of a copy."""

    files: tuple[Copied, ...]

    @property
    def size(self) -> int:
        """Return the bytes of all files, as they are on a disk."""
        return sum(file.size for file in self.files)

    def stamp(self) -> str:
        """Return a digest of names, modes and contents."""
        lines = (f"{file.sha256} {file.mode:o} {file.name}\n" for file in self.files)
        return sha256_bytes("".join(lines).encode())

    def pack(self, stream: IO[bytes]) -> None:
        """Write a compressed archive with everything, and a list of it, to a stream."""
        names = "".join(f"{file.name}\n" for file in self.files)
        listed = Copied("job/files", names.encode())
        with (
            gzip.GzipFile("", "wb", compresslevel=FAST, fileobj=stream, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w|") as tar,
        ):
            for file in (*self.files, listed):
                entry = tarfile.TarInfo(file.name)
                entry.size, entry.mode = file.size, file.mode
                with _opened(file.source) as content:
                    tar.addfile(entry, content)


def _opened(source: Path | bytes) -> IO[bytes]:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def tree_files(root: Path, names: Sequence[str]) -> Iterator[Copied]:
    """Yield files of this repository, for the folder ``source`` there."""
    for name in names:
        yield _of_file(f"source/{name}", root / name)


class CarriedFiles:
    """Files and folders that options name here, and where they are found there."""

    def __init__(self) -> None:
        self.files: list[Copied] = []
        self._count = 0

    def add(self, path: Path, *, leave_out: frozenset[str] = frozenset()) -> str:
        """Take up a file or a folder; return its path there, below the folder of the run.

        Raises BadInput for one that is not there.
        """
        self._count += 1
        place = f"given/{self._count}/{ODD.sub('_', path.resolve().name) or 'file'}"
        if path.is_file():
            self.files.append(_of_file(place, path))
        elif path.is_dir():
            self.files += _below(place, path, leave_out)
        else:
            raise BadInput(f"{path}: no such file or folder, to be copied there")
        return place


def _below(place: str, folder: Path, leave_out: frozenset[str]) -> Iterator[Copied]:
    """Yield the files of a folder; a link to a file is copied as that file."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in leave_out)
        for name in sorted(names):
            path = Path(here, name)
            if path.is_file():
                yield _of_file(f"{place}/{path.relative_to(folder).as_posix()}", path)


def _of_file(name: str, path: Path) -> Copied:
    if not name.isprintable():
        raise BadInput(f"{path}: has a name that cannot be copied: rename it")
    return Copied(name, path, 0o755 if path.stat().st_mode & 0o100 else 0o644)


@dataclass(frozen=True)
class There:
    """An argument that is a path there, behind ``before`` (as ``SOURCE=``)."""

    path: str
    """Below the folder of the run."""
    before: str = ""


Argument = str | There


def run_command(arguments: Sequence[Argument], python: str | None) -> str:
    """Return the line that runs there: ``reproduce`` by a Python there, or by a bundle's script.

    ``$here`` is the folder of the run.
    """
    command = (
        'sh "$here/run.sh"'
        if python is None
        else f'{shlex.quote(python)} -I "$here/source/assay" reproduce'
    )
    return " ".join([command, *(_quoted(word) for word in arguments)])


def run_script(arguments: Sequence[Argument], commit: str | None, python: str | None) -> Copied:
    """Return the script of the run, around its one command.

    A signal that asks for an end is for what it runs; the exit code is left behind in any case.
    Caches of packages lie in the folder, too, and go away with it.
    """
    lines = [
        "#!/bin/sh",
        'here=$(cd "$(dirname "$0")/.." && pwd)',
        'cd "$here" || exit 3',
        "trap : TERM INT HUP",
        'export XDG_CACHE_HOME="$here/cache"',
        *([f"export ASSAY_COMMIT={commit}"] if commit and python else []),
        run_command(arguments, python),
        "code=$?",
        'echo "$code" > job/exit.part && mv job/exit.part job/exit',
        "",
    ]
    return Copied("job/run.sh", "\n".join(lines).encode(), 0o755)


def _quoted(word: Argument) -> str:
    if isinstance(word, str):
        return shlex.quote(word)
    before = shlex.quote(word.before) if word.before else ""
    return f'{before}"$here"/{shlex.quote(word.path)}'

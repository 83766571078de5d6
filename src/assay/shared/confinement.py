"""What a stranger's code may not write: records, reports, Assay itself.

A process that runs such code first gives up, for itself and for all that it starts, to change
anything in the folders that the host names. Landlock enforces it (Linux 5.19 and newer), as any
process may ask of the kernel. A process under it reaches no other one's memory and, from Linux 6.12
on, sends it no signal. What it may still write: its own memory, in which the stopwatch lies, too.
"""

import ctypes
import os
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "ASSAY_PROTECTED"
"""By which the host names the folders; one of them may not be here, as in a container."""
UNCONFINED = "its code could write records: this kernel has no Landlock (Linux 5.19 and newer)"

_CREATE, _ADD_RULE, _RESTRICT, _PR_SET_NO_NEW_PRIVS = 444, 445, 446, 38
"""Numbers of landlock_create_ruleset(2) and those after it, on every architecture; of prctl(2)."""
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_LEAST = 2
"""The first version that allows to move a file to another folder, as compilers' caches do."""
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 14))
_SCOPE_SIGNAL = 1 << 1


def _call(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    result = int(library.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _version() -> int:
    try:
        return _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except (OSError, AttributeError):
        return 0


def available() -> bool:
    """Return whether a process can be confined here."""
    return _version() >= _LEAST


def beside(protected: Sequence[Path]) -> Iterator[Path]:
    """Yield every file and folder that is neither in one of ``protected`` nor around one: rules
    can only say what is allowed.
    """
    held = {path.resolve() for path in protected}
    around = {parent for path in held for parent in path.parents}
    for folder in around - held:
        if held.isdisjoint(folder.parents):
            try:
                entries = list(folder.iterdir())
            except OSError:
                continue
            yield from (each for each in entries if each not in held | around)


@dataclass(frozen=True)
class Confinement:
    """Folders in which nothing changes, and others, in them or elsewhere, that may be written."""

    protected: tuple[Path, ...]
    writable: tuple[Path, ...]

    def enter(self) -> None:
        """Confine this process, which has one thread, for good. Raises OSError."""
        version = _version()
        files = _WRITE_FILE | (_TRUNCATE if version >= 3 else 0)
        every = files | _REMOVE_AND_MAKE
        scoped = _SCOPE_SIGNAL if version >= 6 else 0
        attributes = struct.pack("=QQQ", every, 0, scoped)[: 24 if scoped else 8]
        rules = _call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
        try:
            for path in (*beside(self.protected), *self.writable):
                _allow(rules, path, every, files)
            prctl = ctypes.CDLL(None, use_errno=True).prctl
            prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
            _call(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
        finally:
            os.close(rules)


def _allow(rules: int, path: Path, every: int, files: int) -> None:
    """Allow to change a file or what is in a folder; of a link where its target lies."""
    if path.is_symlink():
        return
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # gone by now
        return
    try:
        rights = every if path.is_dir() else files
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        _call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def confinement(writable: Iterable[Path], more: Iterable[Path] = ()) -> Confinement | None:
    """Return what keeps a process from changing the folders that the host names, and ``more``, but
    for what is ``writable`` in them; None where nothing can or need be kept from it.
    """
    named = (Path(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name)
    protected = tuple(path for path in (*named, *more) if path.exists())
    return Confinement(protected, tuple(writable)) if protected and available() else None


class _Children:
    """How children of this process are confined; None: not."""

    by: Confinement | None = None


def confine_children(cache: Path, more: Iterable[Path] = ()) -> None:
    """Confine every child that is forked from now on; it may write to ``cache``."""
    _Children.by = confinement([cache], more)


def enter_as_child() -> None:
    """Confine this process as its parent decided. Raises OSError."""
    if _Children.by is not None:
        temporary = _Children.by.writable[0] / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        _Children.by.enter()
        try:
            tempfile.NamedTemporaryFile().close()
        except OSError:
            # The folder for temporary files lies around a protected one. Elsewhere it stays: the
            # name of a socket, as multiprocessing makes one there, has at most 107 bytes.
            os.environ["TMPDIR"], tempfile.tempdir = str(temporary), None

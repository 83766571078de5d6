"""What is cached carries a seal: only who holds this user's key can have put it there.

A record in the cache says what its artifact is, but whoever can write the cache can write both.
The seal is an HMAC-SHA256 of a file's name and content, in its first line, under a key that lies
outside of the checkout. A build's seal is such a file that lists its folder.
"""

import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from assay.base.progress import say
from assay.shared.files import sha256_file, write_bytes
from assay.shared.read_limits import Unreadable, whole_file_bytes

VARIABLE = "ASSAY_CACHE_KEY"
"""Names another file for the key."""
SEAL = "seal"
RECORD = "record.json"
MOST_LISTED = 1 << 16
"""Bytes of the list of a folder."""
KEY_BYTES = 32
PRIVATE = 0o600


def key_path() -> Path:
    """Return where the key lies. Raises RuntimeError for an account without a home."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path.home() / ".config" / "assay" / "cache_key"


def write_seal(folder: Path) -> None:
    """Seal a build in the cache, last of all; one without a seal is built again."""
    write_sealed(folder / SEAL, _listed(folder))


def is_sealed(folder: Path) -> bool:
    """Return whether a build in the cache is as this user sealed it."""
    sealed = sealed_bytes(folder / SEAL, MOST_LISTED)
    return (folder / RECORD).is_file() and sealed == _listed(folder)


def _listed(folder: Path) -> bytes:
    """Return a folder's name and every file in it, by name and digest."""
    lines = [folder.name]
    for path in sorted(folder.iterdir()):
        if path.name != SEAL and not path.name.startswith("."):
            lines.append(f"{path.name} {sha256_file(path) if path.is_file() else 'no file'}")
    return "\n".join(lines).encode()


def write_sealed(path: Path, data: bytes) -> None:
    """Write a file with its seal before ``data``; nothing without a key. Raises OSError.

    A key is made on first use, readable by nobody else.
    """
    key = _make_key()
    if key is not None:
        write_bytes(path, f"{_seal(path, data, key)}\n".encode() + data)


def sealed_bytes(path: Path, most: int) -> bytes | None:
    """Return what this user wrote with ``write_sealed`` under this very name, of at most ``most``
    bytes; None for anything else.
    """
    key = _read_key()
    try:
        found = whole_file_bytes(path, most) if key is not None else b""
    except (OSError, Unreadable):
        return None
    seal, _, data = found.partition(b"\n")
    sealed = key is not None and hmac.compare_digest(seal, _seal(path, data, key).encode())
    return data if sealed else None


def _seal(path: Path, data: bytes, key: bytes) -> str:
    return hmac.new(key, path.name.encode() + b"\0" + data, "sha256").hexdigest()


def _read_key() -> bytes | None:
    """Return the key; None where there is none, or others can read it."""
    with suppress(OSError, RuntimeError):
        path = key_path()
        mode = path.stat()
        if mode.st_uid == os.geteuid() and not stat.S_IMODE(mode.st_mode) & 0o077:
            key = path.read_bytes()
            return key if len(key) == KEY_BYTES else None
    return None


def _make_key() -> bytes | None:
    """Return the key, made where there is none; None where that cannot be, which is said."""
    with suppress(OSError, RuntimeError):
        path = key_path()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Whole or not there, for two builds may begin at once: the first to link it wins.
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(KEY_BYTES))
            with suppress(FileExistsError):
                path.hardlink_to(draft)
        finally:
            draft.unlink(missing_ok=True)
    key = _read_key()
    if key is None:
        say(
            "there is no key to seal what is cached with, and none can be made: name a private "
            f"file with {VARIABLE}; until then each run compiles again, and reports are verified "
            "anew"
        )
    return key

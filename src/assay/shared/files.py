"""Files written whole or not at all, digests, JSON in its canonical form."""

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def whole_file(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A stream whose content becomes ``path`` at the end, or is gone. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with whole_file(path) as stream:
        stream.write(data)


def canonical_json(data: Mapping[str, Any]) -> bytes:
    """Sorted keys, two-space indent, one trailing newline.

    Raises ValueError for a NaN or an infinity.
    """
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def write_json(data: Mapping[str, Any], path: Path) -> None:
    """Write canonical JSON, gzip-compressed (without a time stamp) for .gz names.

    Raises ValueError for a NaN or an infinity.
    """
    text = canonical_json(data)
    if path.suffix == ".gz":
        text = gzip.compress(text, compresslevel=9, mtime=0)
    write_bytes(path, text)


def sha256_bytes(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

"""The most that is taken of a file before a parser sees it: one home, each limit with its reason.

A report may come from an enemy, and a careless signer may have signed anything. So a reader asks
first how much there is of a thing, and never finds out by running out of memory. Every limit is at
least ten times what the largest published report holds, unless its reason says otherwise.
"""

import os
import stat
import zlib
from pathlib import Path
from typing import Final

MOST_DOCUMENT: Final = 16_000_000
"""Bytes of one record, after decompression. The longest benchmark on record has 1.2 million."""
MOST_RATIO: Final = 400
"""Bytes that may come out of gzip for one that is in. A program's output that repeats its lines
gives 67; deflate itself ends near 1,030."""
FREE_OF_RATIO: Final = 1_000_000
"""Bytes that may come out whatever the ratio: they harm nobody."""
MOST_EVIDENCE: Final = 256_000_000
"""Bytes of all records of one report together, after decompression; two GPUs have 26 million."""

MOST_DEPTH: Final = 32
"""Levels of nesting. Records have 8; recursive parsers give up, or crash, from 200 on."""
MOST_NODES: Final = 500_000
"""Values of one JSON document: each costs a parser some 100 bytes, whatever its text takes. A
benchmark has 49,000."""
MOST_NUMBER: Final = 40
"""Characters of a number; 24 are enough for any double. Python's integers take a time that grows
with the square of their length."""
MOST_STRING: Final = 4_000_000
"""Bytes of one string: the output of a program run has 77,000."""
MOST_KEY: Final = 300
"""Characters of a key. Keys are names, and the longest metric of Nsight Compute has some 100."""

MOST_YAML: Final = 1_000_000
"""Bytes of a configuration file; the longest has 70,000."""
MOST_YAML_NODES: Final = 100_000
"""Values of one configuration file; the longest has some 6,000."""
MOST_YAML_TEXT: Final = 20_000
"""Characters of one scalar in it: a sentence or two."""

MOST_CODE: Final = 300_000
"""Bytes of a project's file of Python: its parser takes a kilobyte of memory for each. The longest
module of this package has 17,000."""
MOST_CODE_LINE: Final = 4_000
"""Characters of a line in it: the parser's time for an f-string grows with the square of them."""

MOST_KEY_FILE: Final = 65_536
"""Bytes of a file with a key: one of Ed25519 has 400."""
MOST_ENVELOPE: Final = 1_000_000
"""Bytes of an attestation: its statement is about one file, and has 4,000."""

MOST_FILE: Final = 32_000_000
"""Bytes of one file of a report; the longest page has 2.5 million."""
MOST_REPORT: Final = 64_000_000
"""Bytes of all files of a report. One of two targets has 8 million."""
MOST_FILES: Final = 5_000
"""Files of a report, and folders; one of two targets has 440 files."""
MOST_FOLDERS_DEEP: Final = 12
"""Folders that lie in each other; evidence has 5."""

GZIP_END: Final = 4
"""Bytes at the end of a gzip file that tell how many come out of it."""


class Unreadable(ValueError):
    """A text that no parser is given, or that none understands.

    ``code`` says for programs what is wrong with it, the text says it in one sentence.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def whole_file_bytes(path: Path, most: int, *, follow: bool = True) -> bytes:
    """Return the content of a plain file of at most ``most`` bytes.

    Never waits, as for a pipe without a writer. Without ``follow``, a link is no plain file. Raises
    Unreadable for what is no plain file or has more, OSError where it cannot be read.
    """
    kind = os.stat(path, follow_symlinks=follow)  # noqa: PTH116 - of thousands, quickly
    if not stat.S_ISREG(kind.st_mode):  # opening a device may already do something
        raise Unreadable("file-kind", "is not a plain file")
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    with os.fdopen(os.open(path, flags), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("file-kind", "is not a plain file")
        data = b"" if status.st_size > most else stream.read(most + 1)
    if max(status.st_size, len(data)) > most:
        raise Unreadable("file-size", f"has more than {most:,} bytes")
    return data


def unpacked_size(path: Path) -> int:
    """Return the bytes that a record has after decompression, as far as it says so itself.

    ``gunzipped`` refuses one whose end says another size than comes out. Raises OSError.
    """
    size = path.stat().st_size
    if path.suffix != ".gz" or size < GZIP_END:
        return size
    with path.open("rb") as stream:
        stream.seek(-GZIP_END, os.SEEK_END)
        return int.from_bytes(stream.read(GZIP_END), "little")


def gunzipped(data: bytes) -> bytes:
    """Return what one gzip member holds, stopping where more comes out than a record may have.

    Raises Unreadable; also for what follows the member, which no other reader need see alike.
    """
    by_ratio = max(FREE_OF_RATIO, MOST_RATIO * len(data))
    most = min(MOST_DOCUMENT, by_ratio)
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        content = reader.decompress(data, most + 1)
    except zlib.error as error:
        raise Unreadable("gzip", f"cannot be decompressed: {error}") from error
    if len(content) > most:
        code = "gzip-ratio" if by_ratio < MOST_DOCUMENT else "gzip-size"
        raise Unreadable(code, f"more than {most:,} bytes come out of its {len(data):,}")
    if not reader.eof:
        raise Unreadable("gzip", "cannot be decompressed: it ends early")
    if reader.unused_data:
        raise Unreadable("gzip-trailing", "something follows the end of its compressed content")
    return content

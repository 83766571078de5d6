"""Compressed content that is small until it is opened, made without making what it opens to."""

import zlib

MEGABYTE = 1 << 20
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


def gzip_bomb(megabytes: int, says: int | None = None) -> bytes:
    """Return gzip that zeros come out of, a thousandth of them long; its checksum is wrong.

    ``says`` is the size that its end tells, where that is a lie.
    """
    squeeze = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    piece = squeeze.compress(bytes(MEGABYTE)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    end = zlib.compressobj(9, wbits=-zlib.MAX_WBITS).flush()
    told = (megabytes * MEGABYTE if says is None else says) % (1 << 32)
    return _HEADER + piece * megabytes + end + bytes(4) + told.to_bytes(4, "little")

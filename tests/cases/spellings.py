"""Ways to spell a JSON document that two readers may take differently."""

import json
from collections.abc import Callable


def _inserted(data: bytes, member: bytes) -> bytes:
    """Put a member in front of the document's others."""
    return data.replace(b"{", b"{" + member + b",", 1)


SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "half a surrogate": lambda data: _inserted(data, b'"\xed\xa0\x80": 1'),
    "trailing data": lambda data: data + b"{}",
    "cut": lambda data: data[: len(data) // 2],
    "huge number": lambda data: _inserted(data, b'"at": ' + b"9" * 5000),
    "deep": lambda data: _inserted(data, b'"at": ' + b"[" * 100_000),
    "wide": lambda data: _inserted(data, b'"at": [' + b"[]," * 600_000 + b"[]]"),
    "long key": lambda data: _inserted(data, b'"' + b"k" * 400 + b'": 1'),
    "long string": lambda data: _inserted(data, b'"at": "' + b"x" * 5_000_000 + b'"'),
    "further member": lambda data: _inserted(data, b'"at": 1'),
    "first member twice": lambda data: _inserted(data, _first_member(data)),
    "member twice, escaped": lambda data: _inserted(data, _escaped(_first_member(data))),
}
"""By what they do to the bytes of a document that is an object."""


def _first_member(data: bytes) -> bytes:
    key, value = next(iter(json.loads(data).items()))
    return f"{json.dumps(key)}: {json.dumps(value)}".encode()


def _escaped(member: bytes) -> bytes:
    """Write the first letter of a key as an escape: another text, and the same key."""
    return b'"\\u%04x' % member[1] + member[2:]

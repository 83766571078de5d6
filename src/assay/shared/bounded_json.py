"""JSON that is measured before it is parsed, and read in one way only.

The measuring walks over the text once, by regular expressions that never go back, and builds
nothing: depth, values, lengths of numbers and strings. Only then does a parser see it.
"""

import json
import re
from itertools import accumulate
from typing import Any

from assay.shared.read_limits import (
    MOST_DEPTH,
    MOST_DOCUMENT,
    MOST_KEY,
    MOST_NODES,
    MOST_NUMBER,
    MOST_STRING,
    Unreadable,
)

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NUMBER = b"0123456789+-.eE"
_AS_NUMBER = bytes(ord("0") if byte in _NUMBER else ord(" ") for byte in range(256))
_NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))
_STEP = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]


def parse_bounded(data: bytes) -> Any:
    """Return the value of a JSON text. Raises Unreadable with a code and one sentence.

    Refused beside what is no JSON: more of anything than ``read_limits`` allows, a key that is
    given twice, NaN and infinities, any encoding but UTF-8.
    """
    _measure(data)
    try:
        return json.loads(
            data.decode(), object_pairs_hook=_without_repeats, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise Unreadable("encoding", f"is not UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise Unreadable("json-depth", "is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise Unreadable("json", f"is no valid JSON: {error}") from error


def _measure(data: bytes) -> None:
    if len(data) > MOST_DOCUMENT:
        raise Unreadable("json-size", f"has more than {MOST_DOCUMENT:,} bytes")
    bare = _STRING.sub(b'"', data)
    nodes = sum(map(bare.count, (b",", b"[", b"{")))
    # Two quotes in a row are no JSON, and a parser stops there; counting them costs memory.
    if max(nodes, bare.count(b'"') // 2) > MOST_NODES:
        raise Unreadable("json-nodes", f"holds more than {MOST_NODES:,} values")
    brackets = bare.translate(None, _NO_BRACKET)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MOST_DEPTH:
        raise Unreadable("json-depth", f"is nested too deeply: more than {MOST_DEPTH} levels")
    if b"0" * (MOST_NUMBER + 1) in bare.translate(_AS_NUMBER):
        raise Unreadable("json-number", f"holds a number of more than {MOST_NUMBER} characters")
    if len(data) > MOST_STRING and max(map(len, _STRING.findall(data)), default=0) > MOST_STRING:
        raise Unreadable("json-string", f"holds a string of more than {MOST_STRING:,} bytes")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Unreadable("json-duplicate", f"'{key[:MOST_KEY]}' is given twice")
            seen.add(key)
    if found and max(map(len, found)) > MOST_KEY:
        raise Unreadable("json-key", f"holds a key of more than {MOST_KEY} characters")
    return found


def _no_constant(word: str) -> None:
    raise Unreadable("json-number", f"holds {word}, which is no number")

"""JSON is measured before it is parsed: what is too much, and what is read in two ways."""

import tracemalloc

import pytest

from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import (
    MOST_DEPTH,
    MOST_DOCUMENT,
    MOST_KEY,
    MOST_NUMBER,
    MOST_STRING,
    Unreadable,
)

REFUSED = {
    "100,000 lists in each other": (b"[" * 100_000, "json-depth"),
    "100,000 objects in each other": (b'{"a":' * 100_000, "json-depth"),
    "one list too deep": (b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1), "json-depth"),
    "brackets in strings do not close": (b'["]]]]",' * 40 + b"1" + b"]" * 40, "json-depth"),
    "brackets behind an escaped quote": (b'["\\"",' * 40 + b"1" + b"]" * 40, "json-depth"),
    "a million values": (b"[" + b"1," * 1_000_000 + b"1]", "json-nodes"),
    "a million empty lists": (b"[" + b"[]," * 1_000_000 + b"[]]", "json-nodes"),
    "millions of strings without a comma": (b'""' * 3_000_000, "json-nodes"),
    "more bytes than a record has": (b" " * (MOST_DOCUMENT + 1), "json-size"),
    "five thousand digits": (b"1" * 5_000, "json-number"),
    "one digit too many": (b"[1." + b"1" * (MOST_NUMBER - 1) + b"]", "json-number"),
    "a long exponent": (b"1e" + b"0" * 100 + b"1", "json-number"),
    "a string without end to its length": (b'"' + b"x" * (MOST_STRING + 1) + b'"', "json-string"),
    "a key as long as a book": (b'{"' + b"k" * (MOST_KEY + 1) + b'": 1}', "json-key"),
    "a key twice": (b'{"a": 1, "a": 2}', "json-duplicate"),
    "a key twice, once by escapes": (b'{"a": 1, "\\u0061": 2}', "json-duplicate"),
    "no number": (b"[NaN]", "json-number"),
    "an infinity": (b"[-Infinity]", "json-number"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "json"),
    "another encoding": ('{"a": 1}'.encode("utf-16-le"), "json"),
    "bytes that are no text": (b'["\xff"]', "encoding"),
    "a string that does not end": (b'["a', "json"),
    "two values": (b"{} {}", "json"),
    "nothing": (b"", "json"),
    "a trailing comma": (b"[1,]", "json"),
    "a control character in a string": (b'["\x1b"]', "json"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_json_is_refused_by_its_code(case: str) -> None:
    text, code = REFUSED[case]
    with pytest.raises(Unreadable) as raised:
        parse_bounded(text)
    assert raised.value.code == code, str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


def test_measuring_builds_nothing_of_a_list_without_end() -> None:
    text = b"[" + b"[]," * 4_000_000 + b"[]]"
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable):
            parse_bounded(text)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(text)
    finally:
        tracemalloc.stop()

"""linear_regex: finds what Python's own search finds, in a time that no pattern can blow up."""

import random
import re
import time

import pytest

from assay.shared.linear_regex import BadRegex, StepsLeft, TooManySteps, parse_regex

PATTERNS = (
    r"TFLOPS: (?P<value>[0-9.]+)",
    r"(?P<a>a+?)(?P<b>a*)b",
    r"(?:x|xy)(?P<r>\w*)",
    r"(?P<v>\d{1,3}(?:,\d{3})*)",
    r"^\s*(?P<k>\w+)\s*=\s*(?P<v>[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)\s*$",
    r"(?P<x>(ab|a)(bc|c)?)",
    r"\bm=(?P<m>\d+)\b",
    r"(?P<z>[^a-c ]*)q",
    r"(a|b)*?(?P<e>c)",
    r"(?P<v>x{2,4})",
    r"(?P<v>.)\Bb",
)
LINES = (
    "TFLOPS: 12.5 and TFLOPS: 13",
    "aaab aab",
    "xyz xy x",
    "1,234,567 12",
    "  key = -1.5e3 ",
    "abc abbc ac",
    "m=12 xm=3 m=4",
    "defq abcq q",
    "ababc c",
    "xxxxx xx",
    "",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_finds_what_pythons_own_search_finds(pattern: str) -> None:
    source = random.Random(1)
    drawn = [
        "".join(source.choice("abcxyq m=1,2. ") for _ in range(source.randrange(14)))
        for _ in range(300)
    ]
    for line in (*LINES, *drawn):
        theirs = [
            {name: text for name, text in found.groupdict().items() if text is not None}
            for found in re.finditer(pattern, line)
        ]
        assert list(parse_regex(pattern).finds(line)) == theirs, line


def test_a_pattern_that_goes_back_for_ever_elsewhere_ends_here() -> None:
    began = time.monotonic()
    assert list(parse_regex(r"(?P<v>(a|a|aa)*(a*)*)b").finds("a" * 4000)) == []
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("pattern", [r"(?:.?){90}x(?P<v>\d+)", r"(?:a|aa|aaa|.)*b(?P<v>\d+)"])
def test_a_search_ends_after_so_many_steps_whatever_the_pattern(pattern: str) -> None:
    """The first of them took 125 s for a tenth of this."""
    steps = StepsLeft(1_000_000)
    began = time.process_time()
    with pytest.raises(TooManySteps):
        for _ in range(250):
            parse_regex(pattern).first("a" * 4096, steps)
    assert time.process_time() - began < 5


def test_what_cannot_begin_a_match_costs_next_to_nothing() -> None:
    steps = StepsLeft(100_000)
    assert parse_regex(r"rate=(?P<v>\S+)").first("." * 4096 + "rate=5", steps) == {"v": "5"}
    assert 100_000 - steps.left < 3 * 4096


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<v>a)\1",
        r"(?=a)b",
        r"(?<!a)b",
        r"(?i)a",
        "(",
        r"(?P<v>(?:a{100}){100})",
        r"(?:){99999}",
        "a" * 300,
    ],
)
def test_what_needs_going_back_or_is_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(BadRegex):
        parse_regex(pattern)

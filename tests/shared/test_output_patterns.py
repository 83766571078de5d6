"""Patterns that read figures off a program's output."""

import time

import pytest

from assay.shared.output_patterns import BadPattern, Take, parse_pattern

OUTPUT = """\
Kernel   A:  5 runs, 610.25 TFLOPS (best)
Kernel B: 5 runs, 1.5e2 TFLOPS
Runtime: 0.0245 ms, GFLOPs: 27631.6, Passed
speedup 2.1x
"""


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("GFLOPs: {value}", (27631.6,)),
        ("Runtime: {value} ms", (0.0245,)),
        ("Kernel*runs, {value} TFLOPS", (610.25, 150.0)),
        ("Kernel A: * runs, {value} TFLOPS", (610.25,)),
        ("{value} TFLOPS*best", (610.25,)),
        ("speedup {value}x", (2.1,)),
        ("speedup {value}", ()),
        ("gflops: {value}", ()),
        ("GFLOPs: {value} Passed", ()),
        ("GFLOPs: {value}, Passed", (27631.6,)),
    ],
)
def test_what_a_pattern_finds(pattern: str, values: tuple[float, ...]) -> None:
    assert parse_pattern(pattern).values(OUTPUT) == values


@pytest.mark.parametrize(
    ("take", "values"),
    [
        (Take.FIRST, (610.25,)),
        (Take.LAST, (150.0,)),
        (Take.MIN, (150.0,)),
        (Take.MAX, (610.25,)),
        (Take.ONLY, (610.25, 150.0)),
        (Take.ALL, (610.25, 150.0)),
    ],
)
def test_which_of_several_counts(take: Take, values: tuple[float, ...]) -> None:
    assert parse_pattern("{value} TFLOPS").values(OUTPUT, take) == values
    assert parse_pattern("nothing {value}").values(OUTPUT, take) == ()


def test_the_same_number_twice_is_one_figure() -> None:
    printed = "t 607.0\nt 607\nt 607.00"
    assert parse_pattern("t {value}").values(printed, Take.ONLY) == (607.0,)
    assert parse_pattern("t {value}").values("t 1\nt 2\nt 1", Take.ONLY) == (1.0, 2.0)


def test_a_number_is_a_whole_one() -> None:
    """12 of "fp12 TFLOPS", or 5 of "1.5 TFLOPS", is nobody's figure."""
    printed = "fp12 TFLOPS\n1.5 TFLOPS\nv-3 TFLOPS\nat -3 TFLOPS"
    assert parse_pattern("{value} TFLOPS").values(printed) == (1.5, -3.0)


def test_a_number_that_is_too_large_is_none() -> None:
    assert parse_pattern("t {value}").values("t 1e999\nt 2") == (2.0,)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("no number", "once"),
        ("{value} and {value}", "once"),
        ("{value}", "names nothing"),
        ("* {value} *", "names nothing"),
        ("rate*{value}", "between"),
        ("{value}*rate", "between"),
        ("rate\n{value}", "one line"),
        ("a" * 200 + "{value}", "at most 200"),
        ("*".join("abcdefghij") + " {value}", "more than 8 stars"),
    ],
)
def test_what_is_no_pattern(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        parse_pattern(pattern)


@pytest.mark.parametrize(
    ("printed", "pattern", "number"),
    [
        ("1,234.5 TFLOPS", "{value} TFLOPS", None),
        ("GFLOPs: 1,234.5", "GFLOPs: {value}", None),
        ("GFLOPs: 1,234.5, Passed", "GFLOPs: {value},", None),
        ("12.5.6 TFLOPS", "{value} TFLOPS", None),
        ("t 12.5.6", "t {value}", None),
        ("t 12.5.", "t {value}", 12.5),
        ("t 12.5, then", "t {value}", 12.5),
        ("t 3,", "t {value}", 3.0),
    ],
)
def test_a_number_in_groups_is_none(printed: str, pattern: str, number: float | None) -> None:
    """Half of one is a figure that nobody printed."""
    assert parse_pattern(pattern).values(printed) == (() if number is None else (number,))


MOST = 2**20
HOSTILE = {
    "words without a number": "a " * 2040 + "\n",
    "numbers without the words behind": "a " * 20 + "1 " * 2020 + "\n",
    "digits": "9" * 4000 + "\n",
    "blanks": "a \t  " * 800 + "\n",
    "one endless line": "a 1 ",
    "empty lines": "\n",
    "figures": "a a a a a a a a 1ab\n",
    "too large": "a a a a a a a a 1e999ab ",
    "signs": "a +-+-",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_output_takes_no_time(line: str) -> None:
    """As much as is kept of an output, in which every place could begin a match."""
    output = (line * (MOST // len(line) + 1))[:MOST]
    began = time.process_time()
    for pattern in (
        "a*a*a*a*a*a*a*a {value}ab",
        "{value} a*a*a*a*a*a*a*b",
        "{value}ab",
        "a {value}",
    ):
        parse_pattern(pattern).values(output)
    assert time.process_time() - began < 4


def test_of_more_numbers_than_anyone_reads_none_is_taken() -> None:
    assert parse_pattern("t {value}").values("t 1\n" * 100_000) == ()


def test_a_line_longer_than_any_is_not_looked_at() -> None:
    assert parse_pattern("rate {value}").values("rate 1 " + "x" * 5000 + "\nrate 2") == (2.0,)

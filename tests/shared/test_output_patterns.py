"""Patterns that read figures off a program's output."""

import time

import pytest

from assay.shared.output_readers import BadPattern, parse_pattern

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
    "pattern",
    [
        "no number", "{value} and {value}", "{value}", "* {value} *", "rate*{value}",
        "{value}*rate", "rate\n{value}", "a" * 200 + "{value}", "*".join("abcdefghij") + " {value}",
    ],
)  # fmt: skip
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(BadPattern):
        parse_pattern(pattern)


MOST = 2**20
HOSTILE = {
    "words without a number": "a " * 2040 + "\n",
    "numbers without the words behind": "a " * 20 + "1 " * 2020 + "\n",
    "one endless line": "a 1 ",
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

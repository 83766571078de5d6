"""The output of the original programs: examples 41, 43, 47, 57 and 88 of CUTLASS 4.2. Pure.

A parser returns the problem shape *that the program itself reports*, so that a figure can be held
against the problem that really ran, and every printed figure by name.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from assay.records.units import Unit
from assay.shared import flops
from assay.shared.counting import counted
from assay.statistics.roofline import Dtype

ParserName = Literal["cutlass_41", "cutlass_43", "cutlass_47", "cutlass_57", "cutlass_88"]
Shape = Mapping[str, int | bool]

DTYPES: dict[str, Dtype] = {
    "cutlass_41": "float16",
    "cutlass_43": "float16",
    "cutlass_47": "float16",
    "cutlass_57": "float8",
    "cutlass_88": "float16",
}
"""Input types that the examples are compiled with."""
NUMBER = r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?|[-+]?nan|[-+]?inf)"


class MalformedOutput(ValueError):
    """A program's output lacks what its parser needs; the text says what."""


@dataclass(frozen=True)
class ParsedOutput:
    """One run of a program, as its own output reports it."""

    shape: Shape
    figures: Mapping[str, float]
    """Printed figures by name; figures of an output that failed its check are left out."""
    passed: bool | None
    """The program's own check of its results; None where it did not check."""
    failed: tuple[str, ...] = ()
    """Names of the figures whose output failed the program's check."""


def job_id(program: str, arguments: Sequence[str]) -> str:
    """Return the identifier of a program with its arguments, the same on every machine."""
    digest = hashlib.sha256(json.dumps(list(arguments)).encode()).hexdigest()
    return f"{program}_{digest[:10]}"


@lru_cache(maxsize=256)
def parse(parser: ParserName, stdout: str) -> ParsedOutput:
    """Read a program's standard output, which many claims share. Raises MalformedOutput."""
    return _PARSERS[parser](stdout)


@lru_cache(maxsize=256)
def schedule(figure: str) -> str:
    """Return a figure's name without its tile: on another head size a schedule has another tile."""
    return re.sub(r"_\d+x\d+x\d+$", "", figure)


def figure_unit(figure: str) -> Unit:
    """Return the unit of a printed figure, by its name; example 88's are plain TFLOP/s."""
    if figure == "ms" or figure.endswith("_ms"):
        return Unit.MS
    return Unit.GFLOP_PER_S if figure == "gflop_per_s" else Unit.TFLOP_PER_S


def printed_flop(parser: ParserName, shape: Shape, arguments: Sequence[str]) -> int | None:
    """Return one launch's FLOPs as the program counts; None where its shape is not one problem."""
    if parser in ("cutlass_47", "cutlass_57"):
        keys = ("groups", "m", "n", "k") if parser == "cutlass_57" else ("m", "n", "k")
        sizes = [int(shape[key]) for key in keys if key in shape]
        return 2 * math.prod(sizes) if len(sizes) == len(keys) else None
    if parser == "cutlass_43":
        return None  # it prints no problem
    if parser == "cutlass_88":
        full = 4 * math.prod(attention_sizes(parser, shape))
        return full // 2 if shape["causal"] else full
    batch, heads, seq_q, seq_kv, _ = attention_sizes(parser, shape)
    head_dim, value_dim = int(shape["head_size"]), int(shape["head_size_v"])
    if head_dim != value_dim:
        return None
    return flops.cutlass_41(batch, heads, seq_q, seq_kv, head_dim, causal_41(arguments))


REFERENCE_ROW_BYTES = 227 * 1024
"""Shared memory that a block of example 88's reference may have, for a row of fp16 scores."""


def reference_problem(parser: ParserName, shape: Shape, stderr: str) -> str | None:
    """Return why a program's own reference gave nothing to compare with, or None.

    Example 88's then leaves its output unwritten and the comparison fails: no fault of the kernel.
    """
    if parser == "cutlass_88" and 2 * int(shape["k"]) > REFERENCE_ROW_BYTES:
        return f"its reference does not fit K={shape['k']}"
    lines = [line for line in stderr.splitlines() if line.startswith("Reference kernel failed")]
    return lines[0] if lines else None


def attention_sizes(parser: ParserName, shape: Shape) -> tuple[int, int, int, int, int]:
    """Return batch, heads, queries, keys and head size of an attention program's shape."""
    names = {
        "cutlass_41": ("batch_size", "head_number", "seq_length", "seq_length_kv", "head_size"),
        "cutlass_88": ("b", "h", "q", "k", "d"),
    }[parser]
    batch, heads, seq_q, seq_kv, head_dim = (int(shape[name]) for name in names)
    return batch, heads, seq_q, seq_kv, head_dim


def causal_41(arguments: Sequence[str]) -> bool:
    """Return whether example 41 masks causally: it does unless ``--causal=false`` (or 0) is given.

    As the program reads it: the last one counts, and ``False`` is no way to write ``false``.
    """
    given = [a.removeprefix("--causal=") for a in arguments if a.startswith("--causal=")]
    return not given or given[-1] not in ("false", "0")


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise MalformedOutput(f"{what} is '{text}', which is no number") from None
    if not math.isfinite(value) or value < 0:
        raise MalformedOutput(f"{what} is {text}, which no measurement can be")
    return value


def _one(pattern: str, text: str, what: str) -> re.Match[str]:
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if len(found) != 1:
        raise MalformedOutput(
            f"the output states {what} {counted(len(found), 'time')} instead of once"
        )
    return found[0]


def _parse_88(stdout: str) -> ParsedOutput:
    header = _one(
        r"^###### B (-?\d+) H (-?\d+) Q (-?\d+) K (-?\d+) D (-?\d+) (Forward|Backward) "
        r"(Causal|Full) #SM \d+\s*$",
        stdout,
        "its problem",
    )
    if header[6] == "Backward":
        raise MalformedOutput("the program ran the backward pass")
    sizes = {key: int(header[i + 1]) for i, key in enumerate(("b", "h", "q", "k", "d"))}
    shape: Shape = {**sizes, "causal": header[7] == "Causal"}
    figures: dict[str, float] = {}
    failed: list[str] = []
    verified: list[bool] = []
    lines = re.findall(
        rf"^\s?\[(OK|--|FAIL)\]\s+(\S.*?)\s+:\s+{NUMBER} TFLOPS/s\s*$", stdout, re.MULTILINE
    )
    for mark, description, figure in lines:
        # ``tma ws ping-pong 128x64x64`` becomes ``tma_ws_ping_pong_128x64x64``.
        name = re.sub(r"[^a-z0-9]+", "_", description.lower()).strip("_")
        if name in figures or name in failed:
            raise MalformedOutput(f"the output states '{description}' twice")
        if mark == "FAIL":
            failed.append(name)
        else:
            figures[name] = _number(figure, description)
            verified.append(mark == "OK")
    if not lines:
        raise MalformedOutput("the output states no rate")
    passed = False if failed else (True if all(verified) else None)
    return ParsedOutput(shape, figures, passed, tuple(failed))


_SCHEDULES_57 = {
    "Cooperative schedule": "cooperative",
    "Cooperative schedule (host problem shapes unavailable)": "cooperative_device_shapes",
    "Pingpong schedule": "pingpong",
    "Pingpong schedule (host problem shapes unavailable)": "pingpong_device_shapes",
}


def _parse_57(stdout: str) -> ParsedOutput:
    parts = re.split(r"^\*\*\* (.+?) \*\*\*\s*$", stdout, flags=re.MULTILINE)
    if len(parts) < 3:
        raise MalformedOutput("the output names no schedule")
    figures: dict[str, float] = {}
    failed: list[str] = []
    shapes: list[Shape] = []
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        name = _SCHEDULES_57.get(title)
        if name is None:
            raise MalformedOutput(f"the output names an unknown schedule '{title}'")
        names = (f"{name}_ms", f"{name}_tflop_per_s")
        if names[0] in figures or names[0] in failed:
            raise MalformedOutput(f"the output names schedule '{title}' twice")
        shapes.append(_shape_57(body))
        if _one(r"^  Disposition: (Passed|Failed)\s*$", body, "its disposition")[1] == "Failed":
            failed.extend(names)
            continue
        time = _one(rf"^  Avg runtime : {NUMBER} ms\s*$", body, "its run time")[1]
        rate = _one(rf"^  TFLOPS      : {NUMBER}\s*$", body, "its rate")[1]
        figures[names[0]], figures[names[1]] = _number(time, names[0]), _number(rate, names[1])
    if any(shape != shapes[0] for shape in shapes):
        raise MalformedOutput("the schedules ran different problems")
    return ParsedOutput(shapes[0], figures, not failed, tuple(failed))


def _shape_57(body: str) -> Shape:
    """m, n, k and groups; the groups alone where their problems differ."""
    groups = int(_one(r"^  Groups      : (\d+)\s*$", body, "its groups")[1])
    problems = re.findall(r"^    \((\d+),(\d+),(\d+)\), ", body, re.MULTILINE)
    if len(problems) != groups or not groups:
        raise MalformedOutput(
            f"the output lists {counted(len(problems), 'problem')} for {counted(groups, 'group')}"
        )
    if len(set(problems)) > 1:
        return {"groups": groups}
    return {"groups": groups, **dict(zip(("m", "n", "k"), map(int, problems[0]), strict=True))}


def _parse_43(stdout: str) -> ParsedOutput:
    """A product of a matrix in Blocked-ELL: it prints no problem, and counts that of dense ones."""
    return _parse_checked(stdout, lambda _stdout, _passed: {})


def _parse_47(stdout: str) -> ParsedOutput:
    """A dense product by several schedules, each checked; its figures are those of the fastest."""
    problem = r"^\d+ timing iterations of (\d+) x (\d+) x (\d+) matrix-matrix multiply\s*$"
    sizes = map(int, _one(problem, stdout, "its problem").groups())
    shape, names = dict(zip(("m", "n", "k"), sizes, strict=True)), ("gflop_per_s", "ms")
    checks = re.findall(r"^  Disposition: (Passed|Failed)\s*$", stdout, re.MULTILINE)
    if "Failed" in checks:
        return ParsedOutput(shape, {}, False, names)
    times = re.findall(rf"^  Avg runtime: {NUMBER} ms\s*$", stdout, re.MULTILINE)
    rates = re.findall(rf"^  GFLOPs: {NUMBER}\s*$", stdout, re.MULTILINE)
    if not len(checks) == len(times) == len(rates) > 0:
        raise MalformedOutput(
            f"the output has {counted(len(checks), 'check')}, {counted(len(times), 'run time')} "
            f"and {counted(len(rates), 'rate')}"
        )
    rate = max(_number(each, "GFLOPs") for each in rates)
    time = min(_number(each, "Avg runtime") for each in times)
    return ParsedOutput(shape, {"gflop_per_s": rate, "ms": time}, True)


def _parse_41(stdout: str) -> ParsedOutput:
    return _parse_checked(stdout, _shape_41)


def _parse_checked(stdout: str, shape_of: Callable[[str, bool], Shape]) -> ParsedOutput:
    """Read an output that ends in the check of its one result; ``shape_of`` it and its outcome."""
    ends = re.findall(r"^(Passed|Failed)\s*$", stdout, re.MULTILINE)
    if len(ends) != 1:
        raise MalformedOutput("the output ends neither in 'Passed' nor in 'Failed'")
    names = ("gflop_per_s", "ms")
    if ends == ["Failed"]:
        return ParsedOutput(shape_of(stdout, False), {}, False, names)
    shape = shape_of(stdout, True)
    time = _one(rf"^\s*Runtime: {NUMBER} ms\s*$", stdout, "its run time")[1]
    rate = _one(rf"^\s*GFLOPs: {NUMBER}\s*$", stdout, "its rate")[1]
    figures = {"gflop_per_s": _number(rate, "GFLOPs"), "ms": _number(time, "Runtime")}
    return ParsedOutput(shape, figures, True)


_KEYS_41 = ("seq_length", "seq_length_kv", "head_size", "head_size_v", "head_number", "batch_size")
_SHAPE_41 = (
    r"^\s*\{seq length Q, seq length KV, head size, head size V, head number, batch size\} = "
    r"\{(\d+), (\d+), (\d+), (\d+), (\d+), (\d+)\}\.\s*$"
)


def _shape_41(stdout: str, passed: bool) -> Shape:
    """Return its problem; none where it failed before it could tell."""
    if not passed and re.search(_SHAPE_41, stdout, re.MULTILINE) is None:
        return {}
    values = _one(_SHAPE_41, stdout, "its problem").groups()
    return dict(zip(_KEYS_41, map(int, values), strict=True))


_PARSERS: dict[ParserName, Callable[[str], ParsedOutput]] = {
    "cutlass_41": _parse_41,
    "cutlass_43": _parse_43,
    "cutlass_47": _parse_47,
    "cutlass_57": _parse_57,
    "cutlass_88": _parse_88,
}

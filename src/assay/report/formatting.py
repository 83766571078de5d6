"""Numbers, units, names and links as a reader sees them. Pure: formats, never computes."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from assay.records import units
from assay.records.units import SYMBOLS, number, printed, short
from assay.records.workloads import Operation

__all__ = ["number", "printed", "short"]

NESTED = r"^evidence/(earlier/\w+/evidence/)*"
"""What the paths of all records begin with, of a report that is nested, too."""
NOTHING = "\N{EN DASH}"
Value = float | str | None  # a figure, or the word in its place
Ends = tuple[float, float] | None
Row = dict[str, object]  # what a template prints of one thing, by the names that it has there


class Fact(NamedTuple):
    """A label and what stands under it, as pages print them."""

    label: str
    value: str


class Link(NamedTuple):
    """A link to a record inside the report."""

    text: str
    href: str


def factor(ratio: float) -> str:
    """Return a ratio with what tells it from 1, and no more: 0.53, 1.08 or 13 times."""
    decimals = 3 if ratio < 0.1 else 2 if ratio < 2 else 1 if ratio < 10 else 0
    return f"{ratio:.{decimals}f}{SYMBOLS['ratio']}"


def duration(seconds: float) -> str:
    """Return a stretch of time in the units that fit it."""
    if seconds < 99.95:
        return f"{seconds:.1f}\N{NO-BREAK SPACE}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}\N{NO-BREAK SPACE}min {rest:02d}\N{NO-BREAK SPACE}s"
    return f"{minutes // 60}\N{NO-BREAK SPACE}h {minutes % 60:02d}\N{NO-BREAK SPACE}min"


def moment(recorded_at: str) -> str:
    """Return a time of a record to the minute: ``2026-11-21 14:43 UTC``."""
    day, _, rest = recorded_at.partition("T")
    utc = rest.endswith(("Z", "+00:00"))
    return f"{day} {rest[:5]}{' UTC' if utc else rest[8:]}" if rest else recorded_at


def unbroken(text: str) -> str:
    """Return a figure whose unit stays on its line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def with_unit(text: str, unit: str | None) -> str:
    """Return a number and its unit; a space between them is one that does not break."""
    return unbroken(units.with_unit(text, unit))


def quantity(value: Value, unit: str | None) -> str:
    """Return a measured value with its unit, or a word as it stands."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    return with_unit(units.in_digits(value, unit), unit)


def rate(operation: str, tflop_per_s: float, gb_per_s: float) -> str:
    """Return what a launch did in a second, as its operation is told: a load moves, others work."""
    load = operation == Operation.TMA_LOAD
    return quantity(gb_per_s, "gb_per_s") if load else quantity(tflop_per_s, "tflop_per_s")


def figure(value: Value, unit: str | None, beside: Value = None) -> str:
    """Return a measured value in the unit that people read it in: 20.01 µs, 33.86 TFLOP/s.

    ``beside``: the claimed figure beside it; where that is a number, both have the source's unit.
    """
    factor, better = _read_in(value, unit, beside)
    return quantity(value * factor if isinstance(value, float) else value, better)


def _read_in(value: Value, unit: str | None, beside: Value) -> tuple[float, str | None]:
    if isinstance(beside, float) or not isinstance(value, float):
        return 1.0, unit
    return units.readable(value, unit)


def interval_of(value: Value, unit: str | None, ci: Ends, beside: Value = None) -> str | None:
    """Return the interval of a value that ``figure`` writes, in the same unit."""
    factor, _ = _read_in(value, unit, beside)
    return interval(ci and (ci[0] * factor, ci[1] * factor))


def with_interval(value: Value, unit: str | None, ci: Ends, beside: Value = None) -> str:
    """Return a value as ``figure`` writes it, and its interval where there is one."""
    ends = interval_of(value, unit, ci, beside)
    return f"{figure(value, unit, beside)}{f' {ends}' if ends else ''}"


def interval(ci: Ends) -> str | None:
    """``[low, high]``, without a unit: it stands beside a value that has one."""
    return None if ci is None else f"[{number(ci[0])}, {number(ci[1])}]"


def operations(count: float | None) -> str:
    """FLOPs of one launch."""
    return NOTHING if count is None else f"{number(count / 1e9)}\N{NO-BREAK SPACE}GFLOP"


def whole(count: float | None) -> str:
    """A count of things, its digits in groups of three."""
    return NOTHING if count is None else f"{count:,.0f}"


def percent(fraction: float | None) -> str:
    """Return a measured share in per cent; a dash where there is none."""
    return NOTHING if fraction is None else unbroken(units.percent(fraction))


def declared_percent(fraction: float) -> str:
    """Return a share that was declared, in per cent."""
    return unbroken(units.declared_percent(fraction))


def words(code: str) -> str:
    """``not_reproduced`` as ``not reproduced``."""
    return code.replace("_", " ")


def either(words: Sequence[str]) -> str:
    """``a, b or c``."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def short_hash(digest: str | None) -> str:
    """Return the first twelve digits: enough to tell binaries apart at a glance."""
    return digest[:12] if digest else NOTHING


def size(count: int) -> str:
    """Return bytes in the binary unit that fits, always named."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.1f} {unit}"
    return f"{count} B"


def yes_no(value: bool | None) -> str:
    """Return a switch; None where nobody could tell."""
    return "not known" if value is None else ("yes" if value else "no")


def optional(value: object, unit: str = "") -> str:
    """Return a value that may be missing, with a unit."""
    return "not reported" if value is None else f"{value}{' ' + unit if unit else ''}"


def shape(values: Mapping[str, object]) -> str:
    """Return a problem shape on one line."""
    return ", ".join(f"{key}={str(value).lower()}" for key, value in values.items())


def link(path: str) -> Link:
    """Return a link to a file of the report; its text leaves out what all records share."""
    text = re.sub(r"(\.json)?(\.gz)?$", "", re.sub(NESTED, "", path))
    return Link(text, quote(path))


def record_link(path: str, target: str | None) -> Link:
    """Return a link to a record of a verdict on ``target``: ``build bsr_gemm_stage0``."""
    text, href = link(path)
    kind, *parts = text.removeprefix(f"{target}/").split("/")
    kind = "build" if kind == "builds" else kind
    return Link(f"{kind} {parts[-1]}" if parts else kind, href)


def markdown(value: object) -> object:
    """Text so that Markdown shows it as it is, in a table cell too; other values as they are."""
    if not isinstance(value, str):
        return value
    text = value.replace("\n", " ")
    text = re.sub(r"([\\`*\[\]|])", r"\\\1", text)
    text = re.sub(r"&(?=#|[A-Za-z][A-Za-z0-9]*;)", "&amp;", text)
    text = text.replace("<", "&lt;").replace(">", "&gt;")
    # Inside a word an underscore is just an underscore.
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)

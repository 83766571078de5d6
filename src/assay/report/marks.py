"""The mark of every status: one shape and colour in pictures, tables and legends alike."""

from dataclasses import dataclass

from assay.records.verdicts import Status, Verdict
from assay.report.svg import SHAPES, outline

SIZE = 8.0
"""Of a mark's own drawing; what uses it scales it."""
PLAIN = {"disc": "o", "square": "s", "diamond": "D", "ring": "o"}
"""The shape of a status that no picture draws, by its badge."""


@dataclass(frozen=True)
class Mark:
    """How a verdict is marked."""

    symbol: str
    """Id of the shape that the page defines once."""
    style: str
    """Class that colours it: a status."""
    hollow: bool
    """Of a figure measured on other hardware than its source names, and of what was not run."""


def mark_of(status: Status, *, hollow: bool = False) -> Mark:
    """Return the mark of a status."""
    shape = status.facts.mark or PLAIN[status.facts.badge]
    return Mark(_symbol(shape), status.value, hollow or status.facts.badge == "ring")


def verdict_mark(verdict: Verdict) -> Mark:
    """Return the mark of a verdict: measured elsewhere, hollow and by what it would be there."""
    return mark_of(verdict.as_if or verdict.status, hollow=verdict.status is Status.ELSEWHERE)


def _symbol(shape: str) -> str:
    return f"mark-{[*SHAPES].index(shape)}"


def symbols() -> list[tuple[str, str]]:
    """Return (id, outline round 0) of every shape, for the page to define."""
    return [(_symbol(shape), outline(shape, SIZE)) for shape in SHAPES]

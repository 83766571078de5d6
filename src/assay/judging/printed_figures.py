"""Which of a program's printed figures answers a claim. Pure."""

import statistics
from collections.abc import Sequence
from fnmatch import fnmatchcase

from assay.judging.cutlass_output import ParsedOutput, figure_unit, schedule
from assay.records.figure_words import quantity
from assay.records.units import Unit


def figure_name(figure: str, outputs: Sequence[ParsedOutput]) -> str:
    """Return the printed name of a figure: its own, or the only one of the same schedule.

    A command that ran another head size than stated prints the schedule with another tile.
    """
    names = {name for output in outputs for name in (*output.figures, *output.failed)}
    alike = [name for name in names if schedule(name) == schedule(figure)]
    return alike[0] if figure not in names and len(alike) == 1 else figure


def names_one(figure: str) -> bool:
    """Return whether a figure is a name, and no pattern that several may match."""
    return "*" not in figure


def by_speed(pattern: str, outputs: Sequence[ParsedOutput]) -> list[str]:
    """Return names that match ``pattern`` in every output, the fastest first, by their medians."""
    printed = set.intersection(*({*output.figures} for output in outputs)) if outputs else set()
    names = sorted(name for name in printed if fnmatchcase(name, pattern))
    medians = {name: _median(name, outputs) for name in names}
    slow_is_high = figure_unit(pattern) is Unit.MS
    return sorted(names, key=lambda name: medians[name] if slow_is_high else -medians[name])


def others_beside(chosen: str, names: Sequence[str], outputs: Sequence[ParsedOutput]) -> str:
    """Return a sentence that names the kernel that answers, and what the others printed."""
    others = [
        f"{name} {quantity(_median(name, outputs), figure_unit(name))}"
        for name in names
        if name != chosen
    ]
    beside = f" Beside it: {', '.join(others)}." if others else ""
    return f"No kernel is named: the fastest that the program printed is {chosen}.{beside}"


def _median(name: str, outputs: Sequence[ParsedOutput]) -> float:
    return statistics.median(output.figures[name] for output in outputs)

"""Which of a program's printed figures answers a claim, and what its own check came to. Pure.

A check that could not be made says nothing of the output: the program's reference has limits of its
own, and a run that verifies may be cut short.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from assay.judging.cutlass_output import (
    MalformedOutput,
    ParsedOutput,
    figure_unit,
    parse,
    reference_problem,
    schedule,
)
from assay.records.figure_words import quantity
from assay.records.kernels import OriginalProgram
from assay.records.measurements import ProgramRecord, VerificationRun
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


@dataclass(frozen=True)
class Verification:
    """Whether one figure's output passed the program's check; None where nothing says."""

    passed: bool | None
    words: str
    """For the verdict; empty where the program checked itself in every timed run."""


def verification(
    program: OriginalProgram, record: ProgramRecord, outputs: Sequence[ParsedOutput], figure: str
) -> Verification:
    """Return what is known of the output behind ``figure``, by the timed runs' own check first."""
    if any(figure in output.failed for output in outputs):
        return Verification(False, "")
    if all(output.passed is not None for output in outputs):
        return Verification(True, "")
    if record.verification is None:
        return Verification(None, "The program was not asked to verify its output in these runs.")
    return _told(program, record.verification, figure)


def _told(program: OriginalProgram, run: VerificationRun, figure: str) -> Verification:
    try:
        output = parse(program.parser, run.stdout)
    except MalformedOutput as error:
        last = run.stderr.strip().splitlines()[-1:] or [str(error)]
        return _unknown(f"exit code {run.exit_code}: {last[0]}")
    if problem := reference_problem(program.parser, output.shape, run.stderr):
        return _unknown(problem)
    if figure in output.failed:
        return Verification(False, " It did so in a run apart from the timed ones, told to check.")
    if figure not in output.figures or output.passed is None:
        return _unknown("it prints no outcome of a check")
    return Verification(True, "The program checked its output once, untimed, and it passed.")


def _unknown(why: str) -> Verification:
    return Verification(
        None, f"The program was told to check its output once, and could not ({why.rstrip('.')})."
    )

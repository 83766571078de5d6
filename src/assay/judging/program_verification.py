"""What a program's own check of its output came to, in the timed runs or in one beside them. Pure.

A check that could not be made says nothing of the output: the program's reference has limits of its
own, and a run that verifies may be cut short.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.judging.cutlass_output import MalformedOutput, ParsedOutput, parse, reference_problem
from assay.records.kernels import OriginalProgram
from assay.records.measurements import ProgramRecord, VerificationRun


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

"""``./assay test``: run the test suite."""

import os
import shlex
import sys
from collections.abc import Sequence

import typer

from assay.base.errors import BadInput
from assay.cli import checkout
from assay.shared.errors import ExitCode

OWN = ("-n", "--numprocesses", "--pdb", "--trace", "--co", "-h", "--help", "--version")
"""Beginnings of options by which the caller chooses the processes, or wants one alone."""
MOST = "16"  # processes: each imports all that it tests


def test(context: typer.Context) -> None:
    """Run the whole test suite; further arguments go to pytest."""
    import pytest  # noqa: PLC0415 - only installed for tests

    os.chdir(checkout.ROOT)
    code = pytest.main([*processes(context.args), *context.args])
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise BadInput(f"no test is selected by {shlex.join(context.args)}")
    sys.exit(ExitCode.INTERRUPTED if code == pytest.ExitCode.INTERRUPTED else code)


def processes(arguments: Sequence[str]) -> list[str]:
    """Spread tests over the cores, a file in one process, unless the caller chooses."""
    if any(word.startswith(OWN) for word in arguments):
        return []
    return ["-n", "auto", "--maxprocesses", MOST, "--dist", "loadfile"]

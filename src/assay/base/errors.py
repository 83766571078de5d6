"""Errors of the host side, each with the exit code the command line owes its caller.

A claim that fails is data and never an exception; these are for a pipeline that cannot go on.
"""

from collections.abc import Sequence

from assay.shared.errors import ExitCode


class AssayError(Exception):
    """Base of what Assay raises on purpose: one sentence, and for programs a ``code``."""

    exit_code: int = ExitCode.CHECK_FAILED
    code: str = "failed"

    def __init__(self, sentence: str = "", *, code: str | None = None) -> None:
        super().__init__(sentence)
        if code is not None:
            self.code = code


class CheckFailed(AssayError):
    """A check ran and failed: a signature, a hash, a recomputed verdict."""

    exit_code = ExitCode.CHECK_FAILED
    code = "check-failed"


class BadInput(AssayError):
    """The command line, a config file or a record is wrong."""

    exit_code = ExitCode.BAD_INPUT
    code = "bad-input"


class MissingEnvironment(AssayError):
    """This machine lacks something; the sentence says what and how to get it."""

    exit_code = ExitCode.MACHINE_LACKS
    code = "machine-lacks"


class Interrupted(AssayError):
    """The caller, or the machine, asked for an end; the sentence says what was kept."""

    code = "interrupted"

    def __init__(self, sentence: str, exit_code: int, again: Sequence[str] = ()) -> None:
        """``again``: the words that go on, where they are others than those that were typed."""
        super().__init__(sentence)
        self.exit_code = exit_code
        self.again = tuple(again)

"""Exit codes, and errors of the device side: a kind that code acts on, a sentence for a person.

A kind is given where the trouble arises and travels with its outcome, from a child to its parent
and from the device side to the host; nobody reads it off a text.
"""

from enum import IntEnum, StrEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Every exit code there is, for whoever gives one and whoever reads one."""

    DONE = 0
    CHECK_FAILED = 1
    """A check failed; on the device side, a job."""
    BAD_INPUT = 2
    """The command line, a file or a job is not understood."""
    MACHINE_LACKS = 3
    """Something is missing here, and the sentence says what; on the device side, a usable GPU."""
    INTERRUPTED = 130
    """As shells give it to what Ctrl-C ended."""
    READER_GONE = 141
    """As shells give it to what writes into a pipe that nobody reads any more."""


class FailureKind(StrEnum):
    """The reason why there is no result."""

    FAILED = "failed"
    BAD_JOB = "bad_job"
    NO_DEVICE = "no_device"
    """No usable GPU, the wrong one, or a library that drives it is missing."""
    NO_CONTEXT = "no_context"
    """The GPU took no further process: no memory for its context, or one process at a time."""
    NO_ROOM = "no_room"
    """Memory of the GPU or of the host ran out."""
    UNSUPPORTED = "unsupported"
    NOT_INSTALLED = "not_installed"
    NOT_CAPTURED = "not_captured"
    """Launches could not be captured into a CUDA graph."""
    KILLED = "killed"
    """Ended from outside by SIGKILL, as by a host short of memory."""
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"


class KnownFailure(Exception):
    """Base of the errors that say their kind; the text is one sentence for the user."""

    kind: ClassVar[FailureKind] = FailureKind.FAILED


class DeviceError(KnownFailure):
    """An error that ends a device job early, with the exit code its caller relies on."""

    exit_code = ExitCode.CHECK_FAILED


class BadJob(DeviceError):
    """The job file is not one this worker understands."""

    exit_code = ExitCode.BAD_INPUT
    kind = FailureKind.BAD_JOB


class NoDevice(DeviceError):
    """No usable GPU, the wrong one, or a library that drives it is missing."""

    exit_code = ExitCode.MACHINE_LACKS
    kind = FailureKind.NO_DEVICE


class NoContext(NoDevice):
    """The GPU is there and takes no further process now."""

    kind = FailureKind.NO_CONTEXT


class NoRoom(KnownFailure, RuntimeError):
    """A library's own code says that memory ran out."""

    kind = FailureKind.NO_ROOM


class Unsupported(KnownFailure):
    """A variant refuses a shape, a pattern or this device; never the end of a job."""

    kind = FailureKind.UNSUPPORTED


class OutputRefused(KnownFailure):
    """The check that came with a project's problem refuses an arm's output."""


class RivalMissing(Unsupported):
    """A library that a variant calls is not here."""

    kind = FailureKind.NOT_INSTALLED

"""The exit codes of a process: the command line's promise, and the device side's word."""

from enum import IntEnum


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

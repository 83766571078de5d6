"""What ends a device job early, each with the exit code its caller relies on."""

from assay.shared.exit_codes import ExitCode


class DeviceError(Exception):
    """Base of the errors of this side; the text is one sentence for the user."""

    exit_code = ExitCode.CHECK_FAILED


class BadJob(DeviceError):
    """The job file is not one this worker understands."""

    exit_code = ExitCode.BAD_INPUT


class NoDevice(DeviceError):
    """No usable GPU, the wrong one, or a library that drives it is missing."""

    exit_code = ExitCode.MACHINE_LACKS


class Unsupported(Exception):
    """A variant refuses a shape, a pattern or this device; never the end of a job."""

"""What ends a device job early, each with the exit code its caller relies on."""


class DeviceError(Exception):
    """Base of the errors of this side; the text is one sentence for the user."""

    exit_code = 1


class BadJob(DeviceError):
    """The job file is not one this worker understands."""

    exit_code = 2


class NoDevice(DeviceError):
    """No usable GPU, the wrong one, or a library that drives it is missing."""

    exit_code = 3


class Unsupported(Exception):
    """A variant refuses a shape, a pattern or this device; never the end of a job."""

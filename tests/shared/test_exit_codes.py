"""Exit codes: four numbers that others script against, each typed once."""

import pytest

from assay.base import errors
from assay.shared.errors import BadJob, DeviceError, ExitCode, NoDevice


def test_the_numbers_are_the_promised_ones():
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0, "CHECK_FAILED": 1, "BAD_INPUT": 2, "MACHINE_LACKS": 3, "INTERRUPTED": 130,
        "READER_GONE": 141,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.AssayError, ExitCode.CHECK_FAILED),
        (errors.CheckFailed, ExitCode.CHECK_FAILED),
        (errors.BadInput, ExitCode.BAD_INPUT),
        (errors.MissingEnvironment, ExitCode.MACHINE_LACKS),
        (DeviceError, ExitCode.CHECK_FAILED),
        (BadJob, ExitCode.BAD_INPUT),
        (NoDevice, ExitCode.MACHINE_LACKS),
    ],
)
def test_an_error_of_either_side_has_its_code(error: type[Exception], code: ExitCode):
    assert error.exit_code is code  # type: ignore[attr-defined]

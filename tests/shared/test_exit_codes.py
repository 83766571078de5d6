"""Exit codes: four numbers that others script against, each typed once."""

from assay.shared.errors import ExitCode


def test_the_numbers_are_the_promised_ones():
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0, "CHECK_FAILED": 1, "BAD_INPUT": 2, "MACHINE_LACKS": 3, "INTERRUPTED": 130,
        "READER_GONE": 141,
    }  # fmt: skip

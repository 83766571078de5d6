"""Exit codes: four numbers that others script against, each typed once."""

import ast
import re
from pathlib import Path

import pytest

from assay.base import errors
from assay.shared.errors import BadJob, DeviceError, NoDevice
from assay.shared.exit_codes import ExitCode

ROOT = Path(__file__).resolve().parents[2]


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


def test_the_start_script_for_old_pythons_gives_the_code_it_cannot_import():
    start = next(
        node
        for node in ast.walk(ast.parse((ROOT / "assay").read_text()))
        if isinstance(node, ast.FunctionDef) and node.name == "start"
    )
    given = [
        node.value.value
        for node in ast.walk(start)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Constant)
    ]
    assert given == [ExitCode.MACHINE_LACKS]


def test_the_bundles_script_gives_codes_of_the_table():
    given = re.findall(r"\bexit (\d+)", (ROOT / "tools" / "bundle_run.sh").read_text())
    assert {ExitCode(int(code)) for code in given} == {
        ExitCode.CHECK_FAILED,
        ExitCode.MACHINE_LACKS,
    }

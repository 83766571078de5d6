"""The rule that a required part of the suite is never skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import pytest

@pytest.mark.compiler
def test_that_gives_up():
    pytest.skip("no mood")

def test_that_passes():
    assert True
"""


def run(root: Path, folder: Path, required: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_small.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", os.devnull]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [*command, "--rootdir", str(folder), *options, "test_small.py"],
        cwd=folder,
        env={**kept, "PYTHONPATH": f"{root / 'src'}:{root}", "ASSAY_TEST_REQUIRE": required},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_skip_passes_where_nothing_is_required(root: Path, tmp_path: Path):
    ended = run(root, tmp_path, "")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed, 1 skipped" in ended.stdout


@pytest.mark.compiler
@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_skip_of_a_required_part_fails_the_run(
    root: Path, tmp_path: Path, options: tuple[str, ...]
):
    ended = run(root, tmp_path, "compiler", *options)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "REQUIRED BUT SKIPPED test_small.py::test_that_gives_up" in ended.stdout


def test_an_unknown_part_is_a_usage_error(root: Path, tmp_path: Path):
    ended = run(root, tmp_path, "compilr")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "unknown parts: compilr" in ended.stderr

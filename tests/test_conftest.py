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
"""


@pytest.mark.compiler
@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_skip_of_a_required_part_fails_the_run(
    root: Path, tmp_path: Path, options: tuple[str, ...]
):
    (tmp_path / "test_small.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    ours = {"PYTHONPATH": f"{root / 'src'}:{root}", "ASSAY_TEST_REQUIRE": "compiler"}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", *options, "test_small.py"],
        cwd=tmp_path, env={**kept, **ours}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "REQUIRED BUT SKIPPED test_small.py::test_that_gives_up" in ended.stdout

"""The rule that a required part of the suite is never skipped, and what a run says of skips."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torch_modules import TESTS, needs_torch

SUITE = """
import os
import pytest

@pytest.mark.compiler
def test_that_gives_up():
    pytest.skip("no mood")

@pytest.mark.parametrize("day", range(3))
def test_of_a_tool(day):
    pytest.skip("no Lathe here (apt-get install lathe)")

def test_colour():
    assert (os.environ["TERM"], os.environ["COLUMNS"]) == ("dumb", "80")
    assert not {"FORCE_COLOR", "PY_COLORS"} & set(os.environ)
"""
NONE = (
    'import pytest\npytest.skip("no Lathe here (apt-get install lathe)", allow_module_level=True)'
)
COLOURED = {"FORCE_COLOR": "1", "PY_COLORS": "1", "COLUMNS": "200", "TERM": "xterm"}
ALONE_AND_XDIST = pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "xdist"])


def run(
    root: Path, folder: Path, *options: str, required: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the suite above, with the rules of this one."""
    (folder / "test_small.py").write_text(SUITE)
    (folder / "test_none.py").write_text(NONE)
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = .\n")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    ours = {"PYTHONPATH": f"{root / 'src'}:{root}", "ASSAY_TEST_REQUIRE": required}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", *options],
        cwd=folder, env={**kept, **ours, **more}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@ALONE_AND_XDIST
def test_the_whole_suite_says_how_long_it_takes_and_why_tests_were_skipped(
    root: Path, tmp_path: Path, options: tuple[str, ...]
):
    ended = run(root, tmp_path, "-q", *options, PATH="/nonexistent")  # without g++ and others
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert " minutes" in lines[0]
    assert "  no g++ here (apt-get install g++)" in lines
    at = lines.index("skipped, and why:")
    assert "  no Lathe here: 3 and 1 whole file (apt-get install lathe)" in lines[at:]
    assert "1 passed, 5 skipped" in lines[-1], "pytest's own summary stays the last line"


@pytest.mark.compiler
@ALONE_AND_XDIST
def test_a_skip_of_a_required_part_fails_the_run(
    root: Path, tmp_path: Path, options: tuple[str, ...]
):
    ended = run(root, tmp_path, *options, "test_small.py", required="compiler")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "REQUIRED BUT SKIPPED test_small.py::test_that_gives_up" in ended.stdout


def test_an_unknown_part_is_a_usage_error(root: Path, tmp_path: Path):
    ended = run(root, tmp_path, required="compilr")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "compilr" in ended.stderr


def test_what_tests_start_has_no_colour_though_the_caller_asks_for_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("NO_COLOR")
    ended = run(root, tmp_path, "test_small.py", "-k", "colour", **COLOURED)
    assert ended.returncode == 0, ended.stdout
    assert "\x1b[" in ended.stdout, "pytest's own colour is the caller's affair"
    assert "skipped" not in ended.stdout


def imports_torch(path: Path) -> bool:
    imported: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module).partition(".")[0])
    return "torch" in imported


def test_modules_that_import_pytorch_are_known():
    """Without PyTorch such an import would stop the whole collection."""
    found = [path for path in TESTS.rglob("test_*.py") if imports_torch(path)]
    assert found
    assert [path for path in found if not needs_torch(path)] == []

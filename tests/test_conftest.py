"""The rule that a required part of the suite is never skipped, and what a run says of skips."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CORE_MINUTES
from tests.torch_modules import TESTS, needs_torch

SUITE = """
import pytest

@pytest.mark.compiler
def test_that_gives_up():
    pytest.skip("no mood")

def test_that_passes():
    assert True
"""
SMALL = "test_small.py::test_that_gives_up"


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


def test_an_unknown_part_is_a_usage_error(root: Path, tmp_path: Path):
    ended = run(root, tmp_path, "compilr")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "unknown parts: compilr" in ended.stderr


MOODS = """
import pytest

@pytest.mark.parametrize("day", range(3))
def test_of_a_tool(day):
    pytest.skip("no Lathe here (apt-get install lathe)")

def test_of_the_hour():
    pytest.skip("too late")

def test_that_passes():
    assert True
"""


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_the_end_says_why_tests_were_skipped(root: Path, tmp_path: Path, options: tuple[str, ...]):
    (tmp_path / "test_moods.py").write_text(MOODS)
    (tmp_path / "test_none.py").write_text(
        'import pytest\npytest.skip("no Lathe here (apt-get install lathe)", '
        "allow_module_level=True)\n"
    )
    ended = run(root, tmp_path, "", *options, "test_moods.py", "test_none.py", "--deselect", SMALL)
    lines = ended.stdout.splitlines()
    at = lines.index("skipped, and why:")
    assert lines[at + 1 : at + 3] == [
        "  no Lathe here: 3 and 1 whole file (apt-get install lathe)",
        "  too late: 1",
    ], ended.stdout
    assert "2 passed, 5 skipped" in lines[-1], "pytest's own summary stays the last line"


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_the_whole_suite_begins_with_its_time_and_what_it_skips(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
):
    monkeypatch.setenv("PATH", "/nonexistent")  # without g++, Docker and the others
    (tmp_path / "test_few.py").write_text("def test_that_passes():\n    assert True\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = .\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", *options]
    ran = {"PYTHONPATH": f"{root / 'src'}:{root}", "ASSAY_TEST_REQUIRE": ""}
    said = []
    for words in ([], ["test_few.py"]):
        ended = subprocess.run(
            [*command, *words], cwd=tmp_path, env={**os.environ, **ran}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout + ended.stderr
        said.append(ended.stdout)
    minutes = round(CORE_MINUTES / (2 if options else 1))
    assert f": about {minutes} minutes" in said[0].splitlines()[0]
    assert "  no g++ here (apt-get install g++)\n" in said[0]
    assert max(map(len, said[0].splitlines())) <= 80
    assert "minutes" not in said[1]
    assert "1 passed" in said[0].splitlines()[-1]


def test_without_skips_nothing_is_said_of_them(root: Path, tmp_path: Path):
    ended = run(root, tmp_path, "", "-k", "passes")
    assert "skipped" not in ended.stdout


def test_what_tests_start_has_no_colour_though_the_caller_asks_for_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = {"FORCE_COLOR": "1", "PY_COLORS": "1", "COLUMNS": "200", "TERM": "xterm"}
    monkeypatch.delenv("NO_COLOR")
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "test_colour.py").write_text(
        "import os\ndef test_colour():\n"
        "    assert (os.environ['TERM'], os.environ['COLUMNS']) == ('dumb', '80')\n"
        "    assert not {'FORCE_COLOR', 'PY_COLORS'} & set(os.environ)\n"
    )
    ended = run(root, tmp_path, "", "test_colour.py", "--deselect", SMALL)
    assert ended.returncode == 0, ended.stdout
    assert "\x1b[" in ended.stdout, "pytest's own colour is the caller's affair"

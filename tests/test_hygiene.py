"""Formatting, types and lint, with the tools that the test lock pins."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(path for path in (Path(__file__).parents[1] / "workflow" / "scripts").glob("*.py"))


PYTHON = ("src", "tests", "tools", "workflow/scripts", "kernels")


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", *PYTHON),
        ("ruff", "format", "--check", *PYTHON),
        ("mypy",),
        ("snakefmt", "--check", "Snakefile", "workflow"),
        ("snakemake", "--lint", "--workflow-profile", "none"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_tool_finds_nothing(root: Path, command: tuple[str, ...]):
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


TOP_LEVEL = """
    .ci .gitignore CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE README.md Snakefile action.yml
    assay config containers docs kernels profiles projects pyproject.toml reports requirements
    results setup.py src tests tools workflow
""".split()  # noqa: SIM905


def test_the_top_level_is_fixed(root: Path):
    """What a tool left behind by mistake is not kept."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("git lists no files here: what is kept cannot be told from what lies about")
    assert {path.split("/")[0] for path in listed.stdout.split("\0") if path} == {*TOP_LEVEL}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_shims(script: Path):
    assert len(script.read_text().splitlines()) <= 15


@pytest.mark.parametrize("lock", ["host", "test", "build", "toolchain", "torch", "parquet", "docs"])
class TestLocks:
    """Locks pin every distribution by hash and name no place to fetch it from."""

    def test_every_requirement_is_pinned_by_hash(self, root: Path, lock: str):
        text = (root / "requirements" / f"{lock}.txt").read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
        assert lines
        for line in lines:
            assert re.match(r"[A-Za-z0-9._-]+==[^ ]+ .*--hash=sha256:[0-9a-f]{64}", line), line

    def test_no_registry_is_named(self, root: Path, lock: str):
        for suffix in (".txt", ".in"):
            text = (root / "requirements" / f"{lock}{suffix}").read_text()
            assert "://" not in text
            assert "index-url" not in text and "find-links" not in text

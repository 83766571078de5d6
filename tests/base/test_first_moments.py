"""The first moments of a start: what is ignored stays so, and what is missing is said."""

import os
import subprocess
import sys
from pathlib import Path

from tests.library_checkout import REPOSITORY


def start(*command: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_without_the_packages_is_told_so(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')  # without site-packages
    bare.chmod(0o755)
    found = start(
        sys.executable, REPOSITORY / "assay", "doctor",
        ASSAY_NO_VENV="1", ASSAY_PYTHON=str(bare), PYTHONPATH="",
    )  # fmt: skip
    assert found.returncode == 3
    assert found.stderr.startswith("assay: ")
    assert "has no package '" in found.stderr
    assert "unset ASSAY_NO_VENV" in found.stderr
    assert found.stderr.count("\n") == 1

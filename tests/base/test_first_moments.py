"""The first moments of a start: what is ignored stays so, and what is missing is said."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.library_checkout import REPOSITORY


def start(
    *command: str | Path, before: Callable[[], None] | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository; ``before`` runs in the child, ahead of it."""
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=before,
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


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_while_the_imports_last_ends_with_one_line(number: int, code: int) -> None:
    def sent() -> None:  # as the launcher hands over, where somebody was quick
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)

    command = (sys.executable, "-m", "assay.cli", "--help")
    found = start(*command, before=sent, PYTHONPATH=str(REPOSITORY / "src"))
    assert (found.returncode, found.stdout, found.stderr) == (code, "", "assay: interrupted\n")

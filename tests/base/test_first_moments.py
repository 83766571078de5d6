"""The first moments of a start: a signal ends it with one line, and what is missing is said."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.library_checkout import REPOSITORY

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


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


def pending(number: signal.Signals) -> Callable[[], None]:
    """Return what makes a signal wait for the very first moment in which it can arrive."""

    def send() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)

    return send


@pytest.mark.parametrize("number", CODES)
class TestASignal:
    """It arrives before anything was begun: one line, and the code that shells give it."""

    def check(self, ended: subprocess.CompletedProcess[str], number: signal.Signals) -> None:
        assert ended.stderr == "assay: interrupted: nothing was begun\n"
        assert (ended.returncode, ended.stdout) == (CODES[number], "")

    def test_before_the_launcher_is_loaded(self, number: signal.Signals) -> None:
        found = start(
            sys.executable, REPOSITORY / "assay", "doctor", before=pending(number),
            ASSAY_NO_VENV="1",
        )  # fmt: skip
        self.check(found, number)

    def test_before_the_commands_are_loaded(self, number: signal.Signals) -> None:
        found = start(
            sys.executable, "-m", "assay.cli", "doctor", before=pending(number),
            PYTHONPATH=str(REPOSITORY / "src"),
        )  # fmt: skip
        self.check(found, number)

    def test_between_the_two(self, number: signal.Signals, tmp_path: Path) -> None:
        python = tmp_path / "python"
        python.write_text(
            f'#!/usr/bin/env -S "{sys.executable}"\n'
            "import os, sys\n"
            "if 'assay.cli' in sys.argv:\n"
            f"    os.kill(os.getpid(), {int(number)})\n"
            f"os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])\n"
        )
        python.chmod(0o755)
        found = start(
            sys.executable, REPOSITORY / "assay", "doctor",
            ASSAY_NO_VENV="1", ASSAY_PYTHON=str(python),
        )  # fmt: skip
        self.check(found, number)


def test_an_ignored_signal_stays_ignored() -> None:
    def send() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        pending(signal.SIGHUP)()

    found = start(sys.executable, REPOSITORY / "assay", "--version", before=send, ASSAY_NO_VENV="1")
    assert found.returncode == 0, found.stderr


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


DEAF = """
import os, signal, subprocess, sys, time
from assay.base.signals import leave_on_signals
leave_on_signals()
number = int(sys.argv[2])
hear = lambda: os.kill(os.getpid(), number)
class Held:
    __del__ = lambda self: hear()
if sys.argv[1] == "fork":
    os.register_at_fork(after_in_parent=hear)
    subprocess.run(["true"], preexec_fn=lambda: None)
else:
    Held()
print("went on", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("moment", ["fork", "release"])
def test_a_signal_that_python_drops_comes_again(number: signal.Signals, moment: str) -> None:
    source = str(REPOSITORY / "src")
    found = start(sys.executable, "-c", DEAF, moment, str(int(number)), PYTHONPATH=source)
    assert found.returncode == (-number if number == signal.SIGINT else CODES[number])
    assert (found.stdout, "Exception ignored" in found.stderr) == ("went on\n", False)

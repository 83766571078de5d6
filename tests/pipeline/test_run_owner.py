"""A step ends with the command it works for: seen on this machine, told by the lock on another."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.pipeline.workflow_process import leave_with_owner
from assay.runtimes import leftovers, owners

STEP = """
import os, sys, time
from pathlib import Path
from assay.base.signals import leave_on_signals
from assay.pipeline.workflow_process import leave_with_owner
leave_on_signals()
place = Path(sys.argv[1])
try:
    assert leave_with_owner(os.environ, place / "lock")
    (place / "working").touch()
    time.sleep(300)
finally:
    (place / "cleaned").touch()
"""


def far(pid: int) -> owners.Owner:
    """A command on another machine."""
    return owners.Owner("elsewhere", "0", "pid:[1]", pid, 1)


class TestAStep:
    """With its own ``finally``, and soon."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return tmp_path

    def start(self, place: Path, root: Path, owner: owners.Owner) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-c", STEP, str(place)],
            env={
                **os.environ,
                **leftovers.variables(place, owner),
                "PYTHONPATH": str(root / "src"),
            },
        )
        limit = time.monotonic() + 60
        while not (place / "working").exists():
            assert process.poll() is None and time.monotonic() < limit
            time.sleep(0.02)
        return process

    def test_it_ends_with_a_command_that_is_killed(self, place: Path, root: Path) -> None:
        command = subprocess.Popen(["/bin/sleep", "300"])
        me = owners.myself()
        stat = Path(f"/proc/{command.pid}/stat").read_text()
        started = int(stat.rpartition(")")[2].split()[19])
        owner = owners.Owner(me.host, me.boot, me.namespace, command.pid, started)
        step = self.start(place, root, owner)
        command.kill()  # not waited for: one that nobody was told of yet is gone, too
        assert step.wait(60) == 128 + signal.SIGTERM
        assert (place / "cleaned").exists()
        command.wait()

    def test_on_another_machine_it_ends_when_a_later_command_has_the_run(
        self, place: Path, root: Path
    ) -> None:
        (place / "lock").write_text(str(far(1)))
        step = self.start(place, root, far(1))
        assert step.poll() is None
        (place / "lock").write_text(str(far(2)))
        assert step.wait(60) == 128 + signal.SIGTERM


class TestWhatIsOver:
    """A command that is gone, or whose run is another's."""

    def test_a_step_of_one_that_is_gone_does_not_begin(self, tmp_path: Path) -> None:
        me = owners.myself()
        gone = owners.Owner(me.host, me.boot, me.namespace, me.pid, me.started - 1)
        environ = leftovers.variables(tmp_path, gone)
        assert not leave_with_owner(environ, tmp_path / "lock")

"""A command that is ended takes its workflow, its steps and its jobs with it.

The run can be gone on with.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.pipeline.steps import leave_with_owner
from assay.records.attestation import ATTESTATION, VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.runtimes import owners
from tests.pipeline.stand_in import answer_beside, own_environment, waited
from tests.pipeline.test_batched_workflow import NAMES, Checkout

PATIENCE_S = 240.0
RUN = "once"
CALLER = """
import sys
from pathlib import Path
from assay.base.signals import leave_on_signals
from assay.pipeline.snakemake_run import run_process
leave_on_signals()
place = Path(sys.argv[1])
run_process(["/bin/sh", "-c", "sleep 300 & echo $! > pid; wait"], place, place / "run")
"""
TASK = """
import sys
from pathlib import Path
from assay.runtimes.base import Task
from assay.runtimes.host import HostRuntime
command = ("/bin/sh", "-c", f"echo $$ > {sys.argv[1]}/pid; exec sleep 300")
HostRuntime().run(Task(command, Path("/"), "sleep"), None, print)
"""
STEP = """
import os, sys, time
from pathlib import Path
from assay.base.signals import leave_on_signals
from assay.pipeline.steps import leave_with_owner
leave_on_signals()
place = Path(sys.argv[1])
try:
    assert leave_with_owner(os.environ)
    (place / "pid").write_text(str(os.getpid()))
    time.sleep(300)
finally:
    (place / "cleaned").touch()
"""


def started(code, place, root, **environ):
    """Run code in a Python of its own; return it, and the process whose id it writes down."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(place)],
        env={**os.environ, **environ, "PYTHONPATH": str(root / "src")},
    )
    told = place / "pid"
    assert waited(lambda: told.exists() and told.read_text().strip(), 60)
    return process, int(told.read_text())


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize(
    ("code", "number", "ends"),
    [(CALLER, signal.SIGTERM, 128 + signal.SIGTERM), (TASK, signal.SIGKILL, -signal.SIGKILL)],
    ids=["a workflow", "a task"],
)
def test_what_a_command_started_ends_with_it(tmp_path, root, code, number, ends):
    command, pid = started(code, tmp_path, root)
    assert not is_gone(pid)
    command.send_signal(number)
    assert command.wait(30) == ends
    assert waited(lambda: is_gone(pid), 30)


class TestAStep:
    """It ends with the command that it works for: with its own ``finally``, and soon."""

    def test_that_is_killed(self, tmp_path: Path, root: Path) -> None:
        command = subprocess.Popen(["/bin/sleep", "300"])
        mine = owners.variables(tmp_path, owners.name_of(command.pid))
        step, _ = started(STEP, tmp_path, root, **mine)
        command.kill()  # not waited for: one that nobody was told of yet is gone, too
        assert step.wait(60) == 128 + signal.SIGTERM
        assert (tmp_path / "cleaned").exists()
        command.wait()

    def test_of_one_that_is_gone_does_not_begin(self, tmp_path: Path) -> None:
        gone = owners.variables(tmp_path, f"{owners.myself()}0")
        assert not leave_with_owner(gone)


def start(checkout: Checkout) -> "subprocess.Popen[bytes]":
    folder, root = checkout.folder, checkout.root
    words = ["reproduce", "--run", RUN, "--cores", "2", "--target", "h100"]
    words += ["--device-python", str(folder / "python"), "--signing-key", str(folder / "key")]
    with (folder / "said").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "assay.cli", *words],
            cwd=root, env=own_environment(root, folder), stdout=log, stderr=log,
        )  # fmt: skip


def test_nothing_goes_on_without_its_command_and_the_next_ends_well(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    answer_beside(tmp_path / "records", load_catalog(checkout.root), "h100", NAMES)
    slow, said = tmp_path / "slow", tmp_path / "said"
    slow.write_text("benchmark.duel_b")
    command = start(checkout)
    assert waited((tmp_path / "waiting").exists), said.read_text()
    command.kill()
    command.wait()
    # The stand-in sleeps for minutes: it is ended, and all that waits for it.
    results = checkout.root / "results" / RUN
    signature = checkout.root / "reports" / RUN / ATTESTATION
    assert waited(lambda: not owners.leftovers(results), 60)
    assert not signature.exists()
    slow.unlink()
    assert start(checkout).wait(PATIENCE_S) == 0, said.read_text()[-4000:]
    assert signature.is_file()
    assert len(read_record(VerdictsFile, results / VERDICTS).verdicts) == len(NAMES)
    assert "Traceback" not in said.read_text()

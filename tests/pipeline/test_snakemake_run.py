"""An interrupted run takes its workflow and its jobs with it; a run has its name to itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from assay.pipeline.workflow_process import only_run

CALLER = """
import sys
from pathlib import Path
from assay.base.signals import leave_on_signals
from assay.pipeline.workflow_process import run_process
leave_on_signals()
place = Path(sys.argv[1])
run_process(["/bin/sh", "-c", "sleep 300 & echo $! > job; wait"], place, place / "run")
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def waited(condition, seconds: float = 20) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_a_terminated_command_line_leaves_no_job_behind(tmp_path: Path, root: Path):
    job = tmp_path / "job"
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    assert waited(lambda: job.is_file() and job.read_text().strip() != "")
    pid = int(job.read_text())
    assert is_alive(pid)
    caller.send_signal(signal.SIGTERM)
    assert caller.wait(30) == 128 + signal.SIGTERM
    assert waited(lambda: not is_alive(pid))


def test_a_lock_of_a_run_ends_with_it(tmp_path: Path):
    with only_run(tmp_path, "first"), only_run(tmp_path, "second"):
        assert sorted(path.name for path in (tmp_path / "results").glob("*.lock")) == [
            ".first.lock",
            ".second.lock",
        ]
    assert list((tmp_path / "results").iterdir()) == []

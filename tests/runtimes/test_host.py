"""The host as a runtime: what a task started ends with it."""

import sys
import time
from pathlib import Path

import pytest

from assay.base.signals import OutOfTime, deadline
from assay.runtimes import host
from assay.runtimes.base import Task
from assay.runtimes.host import HostRuntime

CHILD = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1], str(os.getpid())).touch()
time.sleep(60)
"""
PARENT = """
import subprocess, sys, time
for new_session in (False, True):
    child = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
    subprocess.Popen(child, stdout=subprocess.DEVNULL, start_new_session=new_session)
print("started", flush=True)
time.sleep(float(sys.argv[3]))
"""


def _is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("parent_lives_s", [60.0, 0.0])
def test_a_task_that_outlives_its_deadline_ends_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parent_lives_s: float
) -> None:
    monkeypatch.setattr(host, "GRACE_S", 0.5)
    seen: list[str] = []

    def on_line(line: str) -> None:
        seen.append(line)
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.05)
        time.sleep(60)

    command = (sys.executable, "-c", PARENT, str(tmp_path), CHILD, str(parent_lives_s))
    task = Task(command, tmp_path, "a trial", inherit=True)
    with pytest.raises(OutOfTime), deadline(5.0):
        HostRuntime().run(task, None, on_line)
    assert seen == ["started"]
    children = [int(path.name) for path in tmp_path.iterdir()]
    assert len(children) == 2
    ended = time.monotonic() + 5
    while any(map(_is_alive, children)) and time.monotonic() < ended:
        time.sleep(0.05)
    assert not [pid for pid in children if _is_alive(pid)]

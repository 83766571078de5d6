"""Watched commands and locks between processes."""

import errno
import fcntl
import multiprocessing
import time
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.base.progress import exclusive


def _hold(path: Path, marks: Path, name: str) -> None:
    with exclusive(path, "waiting"):
        with marks.open("a") as stream:
            stream.write(f"{name} in\n")
        time.sleep(0.1)
        with marks.open("a") as stream:
            stream.write(f"{name} out\n")


def test_one_process_at_a_time_holds_a_lock(tmp_path: Path):
    marks = tmp_path / "marks"
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_hold, args=(tmp_path / "lock", marks, str(number)))
        for number in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    lines = marks.read_text().splitlines()
    assert len(lines) == 8
    for entered, left in zip(lines[::2], lines[1::2], strict=True):
        assert entered.split() == [left.split()[0], "in"]
    assert not (tmp_path / "lock").exists()


def test_a_file_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(MissingEnvironment, match="no locks"), exclusive(tmp_path / "lock", ""):
        pass

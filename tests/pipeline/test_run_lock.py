"""The lock of a run: one owner at a time, on any file system, whatever became of the last one."""

import errno
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.pipeline import run_lock
from assay.pipeline.run_lock import held_run
from assay.runtimes import owners
from assay.shared.files import write_bytes

HERE = owners.myself()
FAR = owners.Owner("elsewhere", "0", "pid:[1]", 4711, 1)


def hold(path: Path, marks: Path, name: str) -> None:
    def mark(word: str) -> None:
        with marks.open("a") as stream:
            stream.write(f"{name} {word}\n")

    for _ in range(5):
        with held_run(path, "waiting"):
            mark("in")
            time.sleep(0.02)
            mark("out")


def standing(path: Path, owner: owners.Owner) -> None:
    """A lock that an owner left, as a killed one does."""
    own = run_lock._own_file(path, str(owner))
    write_bytes(own, str(owner).encode())
    os.link(own, path)


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_lock, "POLL_S", 0.01)
    return tmp_path / "results" / ".run.lock"


def test_it_holds_the_name_of_its_owner_and_goes_with_it(lock: Path) -> None:
    with held_run(lock, ""):
        assert lock.read_text() == str(HERE)
    assert list(lock.parent.iterdir()) == []


def test_one_process_at_a_time_has_the_run(lock: Path, tmp_path: Path) -> None:
    marks, context = tmp_path / "marks", multiprocessing.get_context("fork")
    processes = [context.Process(target=hold, args=(lock, marks, str(n))) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    lines = marks.read_text().splitlines()
    assert len(lines) == 40
    for entered, left in zip(lines[::2], lines[1::2], strict=True):
        assert entered.split() == [left.split()[0], "in"]
    assert list(lock.parent.iterdir()) == []


def test_no_lock_of_the_kernel_is_needed(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    monkeypatch.setattr(fcntl, "lockf", none)
    test_one_process_at_a_time_has_the_run(lock, tmp_path)


class TestAnOwnerThatIsGone:
    """Its lock is taken at once where that can be seen, else when it has been silent for long."""

    def test_a_killed_process_of_this_machine_loses_it_at_once(self, lock: Path) -> None:
        gone = owners.Owner(HERE.host, HERE.boot, HERE.namespace, HERE.pid, HERE.started - 1)
        standing(lock, gone)
        began = time.monotonic()
        with held_run(lock, ""):
            assert lock.read_text() == str(HERE)
        assert time.monotonic() - began < 5
        assert list(lock.parent.iterdir()) == []

    def test_a_silent_one_of_another_machine_loses_it(
        self, lock: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_lock, "STALE_S", 0.3)
        standing(lock, FAR)
        with held_run(lock, ""):
            assert lock.read_text() == str(HERE)

    def test_one_that_touches_it_keeps_it(
        self, lock: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_lock, "STALE_S", 0.5)
        standing(lock, FAR)
        touched: list[float] = []

        def sleep(seconds: float) -> None:
            """Another machine touches its file, and at last lets go."""
            os.utime(lock, ns=(0, len(touched)))
            touched.append(seconds)
            if len(touched) == 100:
                lock.unlink()
            real(seconds)

        real = time.sleep
        monkeypatch.setattr(time, "sleep", sleep)
        with held_run(lock, ""):
            assert len(touched) == 100

    def test_its_own_clock_does_not_matter(
        self, lock: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_lock, "STALE_S", 0.3)
        standing(lock, FAR)
        os.utime(lock, (0, 4_000_000_000))
        with held_run(lock, ""):
            assert lock.read_text() == str(HERE)

    def test_a_waiter_that_died_of_breaking_it_is_no_hindrance(
        self, lock: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone = owners.Owner(HERE.host, HERE.boot, HERE.namespace, HERE.pid, HERE.started - 1)
        standing(lock, gone)
        guard = lock.with_name(f"{lock.name}.breaking")
        write_bytes(guard, b"")
        os.utime(guard, (0, 0))
        with held_run(lock, ""):
            pass


def test_who_lost_it_ends(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slept comes back to a run that another one has."""
    monkeypatch.setattr(run_lock, "BEAT_S", 0.05)
    told: list[int] = []
    monkeypatch.setattr(run_lock.os, "kill", lambda _, number: told.append(number))
    with held_run(lock, ""):
        lock.unlink()
        standing(lock, FAR)
        time.sleep(0.3)
    assert told == [signal.SIGTERM]
    assert lock.read_text() == str(FAR), "which is not ours to remove"


def test_a_file_system_without_links_is_told(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(run_lock.os, "link", link)
    with pytest.raises(MissingEnvironment, match="no hard links"), held_run(lock, ""):
        pass

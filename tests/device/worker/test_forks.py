"""forks: a forked child reports, fails, dies or hangs, and the parent knows which."""

import contextlib
import os
import signal
import sys
import time

import pytest

from assay.device.worker.forks import run_child, run_children
from assay.shared.errors import FailureKind, NoDevice


def test_value_comes_back():
    outcome = run_child(lambda note: {"answer": 42}, 10)
    assert outcome.value == {"answer": 42}
    assert outcome.error is None


def test_exception_becomes_an_error_with_the_last_note():
    def work(note):
        note("arm_one")
        note("arm_two")
        raise RuntimeError("illegal address")

    outcome = run_child(work, 10)
    assert outcome.value is None
    assert outcome.error == "RuntimeError: illegal address"
    assert outcome.note == "arm_two"


def test_death_by_signal_is_named_and_the_note_survives():
    def work(note):
        note("crashing")
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    outcome = run_child(work, 10)
    assert outcome.error == "died of SIGKILL"
    assert outcome.note == "crashing"


def test_hanging_child_is_stopped_at_the_deadline():
    def work(note):
        time.sleep(60)
        return {}

    began = time.monotonic()
    outcome = run_child(work, 0.2)
    assert outcome.error is not None
    assert outcome.error.startswith("stopped after")
    assert time.monotonic() - began < 5


def test_no_device_ends_the_job():
    def work(note):
        raise NoDevice("no GPU here")

    with pytest.raises(NoDevice, match="no GPU here"):
        run_child(work, 10)


def test_parent_ticks_while_the_child_works():
    ticks = []
    run_child(lambda note: time.sleep(0.1) or {}, 10, lambda: ticks.append(1))
    assert len(ticks) >= 5


@pytest.fixture
def forked(monkeypatch):
    """Ids of all processes forked meanwhile, in order."""
    started = []
    real_fork = os.fork

    def fork():
        pid = real_fork()
        if pid:
            started.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", fork)
    return started


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def sleeper(note):
    time.sleep(60)
    return {}


def test_interrupted_parent_leaves_no_child(forked):
    def tick():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child(sleeper, 10, tick)
    assert [gone(pid) for pid in forked] == [True]


def wait_for(path, limit_s=5.0):
    end = time.monotonic() + limit_s
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(path.name)
        time.sleep(0.002)


def meets(folder, mine, others):
    """Work that ends only if ``others`` have begun meanwhile."""

    def work(note):
        (folder / mine).touch()
        for other in others:
            wait_for(folder / other)
        return {"name": mine}

    return work


def notes_the_crowd(folder, name, most):
    """Work that keeps a file while it runs, and fails where it sees more than ``most`` such."""

    def work(note):
        mark = folder / f"{name}.runs"
        mark.touch()
        worst = 0
        for _ in range(20):
            worst = max(worst, len(list(folder.glob("*.runs"))))
            time.sleep(0.002)
        mark.unlink()
        assert worst <= most, worst
        return {"worst": worst}

    return work


class TestChildren:
    def test_run_side_by_side(self, tmp_path):
        names = ["a", "b", "c"]
        works = [meets(tmp_path, name, set(names) - {name}) for name in names]
        outcomes = run_children(works, 10, 3)
        assert [outcome.error for outcome in outcomes] == [None] * 3
        assert [outcome.value for outcome in outcomes] == [{"name": name} for name in names]

    def test_are_never_more_than_asked_for(self, tmp_path):
        works = [notes_the_crowd(tmp_path, name, 2) for name in "abcdef"]
        worst = [outcome.value["worst"] for outcome in run_children(works, 10, 2)]
        assert max(worst) <= 2  # that some do meet is told by those that wait for each other

    def test_outcomes_and_reports_keep_the_order_of_the_works(self, tmp_path):
        """The first ends last."""
        works = [meets(tmp_path, "first", ["third"])]
        works += [lambda note: {"name": "second"}, meets(tmp_path, "third", [])]
        reports = []
        outcomes = run_children(
            works, 10, 2, lambda number, outcome: reports.append((number, outcome))
        )
        assert [outcome.value["name"] for outcome in outcomes] == ["first", "second", "third"]
        assert reports == list(enumerate(outcomes))

    def test_one_that_dies_leaves_the_others(self, tmp_path):
        def dies(note):
            note("crashing")
            wait_for(tmp_path / "lives")
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)

        died, lives = run_children([dies, meets(tmp_path, "lives", ["died"])], 10, 2)
        assert (died.error, died.note) == ("died of SIGKILL", "crashing")
        assert lives.value == {"name": "lives"}

    def test_the_deadline_counts_from_the_start_of_each(self, forked):
        """Four of 1 s in a file of two: the last ends after the first one's deadline."""
        works = [lambda note: time.sleep(1.0) or {}] * 4
        began = time.monotonic()
        outcomes = run_children([*works, sleeper], 1.8, 2)
        assert [outcome.error for outcome in outcomes] == [None] * 4 + ["stopped after 2 s"]
        assert 1.8 <= outcomes[-1].seconds < 6
        assert time.monotonic() - began >= 3.8
        assert all(gone(pid) for pid in forked)

    def test_no_device_in_one_ends_all(self, forked, tmp_path):
        def lost(note):
            raise NoDevice("no GPU here")

        with pytest.raises(NoDevice, match="no GPU here"):
            run_children([sleeper, lost, sleeper, sleeper], 30, 3)
        assert len(forked) == 3
        assert all(gone(pid) for pid in forked)

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_a_parent_that_is_interrupted_leaves_none(self, forked, error):
        def report(number, outcome):
            raise error

        with pytest.raises(error):
            run_children([lambda note: {}, sleeper, sleeper], 30, 3, report)
        assert len(forked) == 3
        assert all(gone(pid) for pid in forked)


class TestAgain:
    """A child that others left no room is run once more alone."""

    @staticmethod
    def needs_room(folder, name, others):
        """Work that fails while any of ``others`` runs; how often it ran is in its file."""

        def work(note):
            with (folder / name).open("a") as file:
                file.write("ran\n")
            if len((folder / name).read_text().splitlines()) == 1:
                for other in others:
                    wait_for(folder / f"{other}.runs")
            crowd = len(list(folder.glob("*.runs")))
            if crowd:
                raise MemoryError(f"{crowd} others")
            return {"name": name}

        return work

    @staticmethod
    def takes_room(folder, name):
        def work(note):
            mark = folder / f"{name}.runs"
            mark.touch()
            time.sleep(0.2)
            mark.unlink()
            return {"name": name}

        return work

    def test_and_the_outcome_is_that_of_the_second_run(self, tmp_path):
        asked = []

        def again(number, outcome):
            asked.append((number, outcome.error))
            return outcome.error is not None

        works = [self.needs_room(tmp_path, "small", ["big"]), self.takes_room(tmp_path, "big")]
        works += [self.takes_room(tmp_path, name) for name in ("x", "y")]
        reports = []
        outcomes = run_children(
            works, 10, 2, lambda number, outcome: reports.append(outcome.value["name"]), again
        )
        assert [outcome.error for outcome in outcomes] == [None] * 4
        assert reports == ["small", "big", "x", "y"]
        assert (0, "MemoryError: 1 others") in asked
        assert (tmp_path / "small").read_text() == "ran\nran\n"

    def test_no_device_beside_others_is_believed_only_alone(self, tmp_path):
        """A context takes memory too."""

        def lost(note):
            if not (tmp_path / "second").exists():
                (tmp_path / "second").touch()
                wait_for(tmp_path / "beside")
                raise NoDevice("out of memory")
            return {"name": "lost"}

        works = [lost, meets(tmp_path, "beside", ["second"])]
        outcomes = run_children(
            works, 10, 2, again=lambda number, outcome: outcome.kind is FailureKind.NO_DEVICE
        )
        assert [outcome.value["name"] for outcome in outcomes] == ["lost", "beside"]


def test_an_interrupt_while_a_child_tells_of_its_error_spares_the_others(tmp_path) -> None:
    def failing(note):
        # Its standard error is a full pipe: telling of the error takes until it is interrupted.
        _reading, writing = os.pipe()
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4096)
        os.set_blocking(writing, True)
        sys.stderr = os.fdopen(writing, "w", buffering=1)
        (tmp_path / "pid").write_text(str(os.getpid()))
        raise RuntimeError("boom")

    def sibling(note):
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGINT)
        time.sleep(0.3)
        return {"done": True}

    first, second = run_children([failing, sibling], 10.0, 2)
    assert first.error == "died of SIGINT"
    assert second.value == {"done": True}

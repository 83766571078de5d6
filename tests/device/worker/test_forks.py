"""forks: a forked child reports, fails, dies or hangs, and the parent knows which."""

import os
import signal
import time

import pytest

from assay.device.worker.forks import each_child, run_child
from assay.shared.errors import NoDevice


def raises(note):
    raise RuntimeError("illegal address")


def dies(note):
    os.kill(os.getpid(), signal.SIGKILL)


def sleeper(note):
    time.sleep(60)
    return {}


@pytest.mark.parametrize(
    ("end", "limit_s", "error"),
    [
        (raises, 30.0, "RuntimeError: illegal address"),
        (dies, 30.0, "died of SIGKILL"),
        (sleeper, 0.5, "stopped after"),
    ],
)
def test_a_child_without_a_result_has_an_error_and_its_last_note(end, limit_s, error):
    def work(note):
        note("arm_one")
        note("arm_two")
        return end(note)

    outcome = run_child(work, limit_s)
    assert (outcome.value, outcome.note) == (None, "arm_two")
    assert outcome.error.startswith(error)
    assert outcome.seconds < 25


@pytest.fixture
def forked(monkeypatch):
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


class TestChildren:
    def test_one_that_neighbours_left_no_room_is_run_again_beside_fewer(self, tmp_path):
        def crowded(note):
            try:
                (tmp_path / "tried").touch(exist_ok=False)
            except FileExistsError:
                return {"found": "room"}
            wait_for(tmp_path / "neighbour")
            raise RuntimeError("no room")

        works = [crowded, meets(tmp_path, "neighbour", [])]
        asked = []
        again = lambda number, outcome: asked.append(number) or outcome.error is not None  # noqa: E731
        found = [outcome.value for outcome in each_child(works, 10, 2, again)]
        assert found == [{"found": "room"}, {"name": "neighbour"}]
        assert asked.count(0) == 1

    def test_the_deadline_counts_from_the_start_of_each(self, forked):
        """Four in a file of two: the last ends after the first one's deadline."""
        works = [lambda note: time.sleep(1.0) or {}] * 4
        began = time.monotonic()
        outcomes = list(each_child([*works, sleeper], 1.8, 2))
        assert [outcome.error for outcome in outcomes] == [None] * 4 + ["stopped after 2 s"]
        assert 1.8 <= outcomes[-1].seconds < 6
        assert time.monotonic() - began >= 3.8
        assert all(gone(pid) for pid in forked)

    def test_no_device_in_one_ends_all(self, forked, tmp_path):
        def lost(note):
            raise NoDevice("no GPU here")

        with pytest.raises(NoDevice, match="no GPU here"):
            list(each_child([sleeper, lost, sleeper, sleeper], 30, 3))
        assert len(forked) == 3
        assert all(gone(pid) for pid in forked)

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_a_parent_that_is_interrupted_leaves_none(self, forked, error):
        def on_tick(_running):
            raise error

        with pytest.raises(error):
            list(each_child([lambda note: {}, sleeper, sleeper], 30, 3, on_tick=on_tick))
        assert len(forked) == 3
        assert all(gone(pid) for pid in forked)

"""assay.device.zygote: a forked child reports, fails, dies or hangs, and the parent knows which."""

import os
import signal
import time

import pytest

from assay.device.errors import NoDevice
from assay.device.zygote import run_child


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


def test_nan_in_a_result_is_an_error():
    outcome = run_child(lambda note: {"x": float("nan")}, 10)
    assert outcome.value is None
    assert outcome.error == "ended without a result"


def test_parent_ticks_while_the_child_works():
    ticks = []
    run_child(lambda note: time.sleep(0.1) or {}, 10, lambda: ticks.append(1))
    assert len(ticks) >= 5


def test_interrupted_parent_leaves_no_child():
    started = []

    def tick():
        raise KeyboardInterrupt

    def work(note):
        time.sleep(60)
        return {}

    real_fork = os.fork

    def fork():
        pid = real_fork()
        if pid:
            started.append(pid)
        return pid

    os.fork = fork
    try:
        with pytest.raises(KeyboardInterrupt):
            run_child(work, 10, tick)
    finally:
        os.fork = real_fork
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)

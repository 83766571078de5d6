"""relay: children get ready side by side, and are alone one after the other."""

import os
import signal
import time

import pytest

from assay.device.worker.forks import each_child
from assay.device.worker.relay import Relay

COUNT = 3


def outcomes_of(relay, before=lambda number: None, inside=lambda number: None):
    def work(number, _note):
        ready = time.monotonic()
        before(number)
        with relay.alone(number) as waited:
            began = time.monotonic()
            inside(number)
            time.sleep(0.05)
            ended = time.monotonic()
        return {"span": (ready, began, ended, time.monotonic()), "waited": sum(waited)}

    works = [lambda note, number=number: work(number, note) for number in range(COUNT)]
    return list(each_child(works, 20, COUNT, on_tick=relay.poll))


def test_all_are_ready_before_the_first_is_alone_and_none_ends_before_the_last():
    found = outcomes_of(Relay(COUNT), before=lambda number: time.sleep(0.1 * number))
    spans = [outcome.value["span"] for outcome in found]
    began, ended = [span[1] for span in spans], [span[2] for span in spans]
    assert min(began) > max(span[0] for span in spans) + 0.1
    assert all(one < other for one, other in zip(ended, began[1:], strict=False))
    assert min(span[3] for span in spans) > max(ended)
    for outcome, (_, first, last, _) in zip(found, spans, strict=True):
        assert last - first <= outcome.value["waited"] <= outcome.seconds - (last - first)


def die(number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("moment", ["before", "inside"])
def test_nobody_waits_for_one_that_has_died(moment):
    found = outcomes_of(Relay(COUNT), **{moment: die})
    assert [outcome.value is None for outcome in found] == [False, True, False]

"""stopwatch: order on the stream, warm-up by state, the lead of the slower side."""

from types import SimpleNamespace

import pytest
import torch

from assay.device.timing import stopwatch as module
from assay.device.timing.stopwatch import (
    CudaStopwatch,
    Keep,
    Timing,
    settling_launches,
    turn_samples,
    warm_up,
)
from assay.shared.limits import MAX_LEAD_MS, MAX_SAMPLES, MAX_SETTLING, lead_ms
from tests.device.helpers import protocol


class FakeCuda:
    """Stands for torch.cuda; writes down what is enqueued, in order."""

    def __init__(self):
        self.log = []

    def get_device_properties(self, index):
        return SimpleNamespace(L2_cache_size=1024)

    def _sleep(self, cycles):
        self.log.append(f"sleep {cycles}")

    def Event(self, enable_timing):  # noqa: N802
        def record():
            self.log.append("event")

        return SimpleNamespace(record=record, elapsed_time=lambda other: 0.5)


class Buffer:
    """A tensor that writes down what is done with it."""

    def __init__(self, log):
        self.log = log

    def zero_(self):
        self.log.append("flush")

    shape = (2, 3)

    def copy_(self, other):
        self.log.append("copy")


class TestCudaStopwatch:
    @pytest.fixture
    def fake(self, monkeypatch):
        fake = FakeCuda()
        sizes = []

        def empty(size, dtype, device):
            sizes.append(size)
            return Buffer(fake.log)

        monkeypatch.setattr(module.torch, "cuda", fake)
        monkeypatch.setattr(module.torch, "empty", empty)
        monkeypatch.setattr(module, "reset_persisting_lines", lambda: fake.log.append("reset"))
        monkeypatch.setattr(module, "wait_for_gpu", lambda: fake.log.append("synchronize"))
        for name in ("hold_all", "record_all"):
            monkeypatch.setattr(module, name, lambda _event, name=name: fake.log.append(name))
        fake.sizes = sizes
        return fake

    def launch(self, fake):
        fake.log.append("launch")
        return Buffer(fake.log)

    def test_order_of_a_cold_checked_turn(self, fake):
        def note(word, number):
            fake.log.append(f"{word} {number}")

        counter = SimpleNamespace(stamp=lambda which: note("stamp", which), read=lambda: 1755.0)
        timing = CudaStopwatch(cold=True, counter=counter).turn(
            lambda: self.launch(fake),
            2,
            1.5,
            lambda number: note("before", number),
            [Keep(0, Buffer(fake.log))],
        )
        assert fake.sizes == [2048]
        sample = ["flush", "event", "launch", "event"]
        # The copy comes before the host waits: unfinished work elsewhere would be missing in it.
        assert fake.log == [
            *("reset", "synchronize", "sleep 3000000", "stamp 0"),
            *("before 0", *sample, "copy"),
            *("before 1", *sample, "stamp 1", "synchronize"),
        ]
        assert (timing.times_ms, timing.clock_mhz) == ([0.5, 0.5], 1755.0)

    def test_what_runs_beside_a_stranger_s_launches_is_held_and_timed(self, fake):
        """Before a checked one the GPU is empty, and nothing begins before it; all ends behind.
        Some launches are looked behind, and then the host gets ahead again.
        """
        strangers = {"lead_ms": 1.0, "look": lambda: fake.log.append("look")}
        stopwatch = CudaStopwatch(cold=True)
        stopwatch.turn(lambda: self.launch(fake), 1, keeps=[Keep(0, Buffer(fake.log))], **strangers)
        wait = ["synchronize", "sleep 2000000"]
        timed = ["flush", "event", "hold_all", "launch", "event", "copy", "look"]
        ended = [*wait, "record_all", "event", "synchronize"]
        assert fake.log[3:] == [*wait, *timed, *ended]
        fake.log.clear()
        timing = stopwatch.turn(lambda: self.launch(fake), 1, **strangers)
        assert fake.log[3:] == ["flush", "event", "launch", "event", "look", *ended]
        assert timing.after_ms == 0.5

    def test_a_warm_unchecked_turn_neither_flushes_nor_keeps(self, fake):
        CudaStopwatch(cold=False).turn(lambda: self.launch(fake), 1)
        assert fake.log == ["reset", "synchronize", "event", "launch", "event", "synchronize"]


class Scripted:
    """A stopwatch whose batches take the scripted times; its clock advances with them."""

    def __init__(self, medians):
        self.medians = iter(medians)
        self.now = 0.0
        self.batches = 0

    def turn(self, launch, samples, lead_ms=0.0, before=None, keep=None):
        time_ms = next(self.medians)
        self.batches += 1
        self.now += time_ms * samples / 1e3
        return Timing([time_ms] * samples, 0.01)

    def clock(self):
        return self.now


class TestWarmUp:
    @pytest.mark.parametrize(
        ("medians", "least_ms", "most_ms", "wanted"),
        [
            ([2.0, 1.5, 1.2, 1.0, 1.005, 7.0], 1.0, 1e6, (5, 5)),  # two medians agree
            ([1.0] * 100, 30.0, 1e6, (10, 11)),  # stable, and 30 ms of 3 ms batches
            ([1.0, 2.0] * 50, 1.0, 30.0, (1, 10)),  # never stable
        ],
    )
    def test_ends_by_state_and_by_time(self, medians, least_ms, most_ms, wanted):
        stopwatch = Scripted(medians)
        rules = protocol(warmup_min_ms=least_ms, warmup_max_ms=most_ms, warmup_stable_fraction=0.01)
        result = warm_up(stopwatch, lambda: torch.empty(1), rules, stopwatch.clock)
        assert wanted[0] <= stopwatch.batches <= wanted[1]
        assert result.gpu_ms == pytest.approx(3 * sum(medians[: stopwatch.batches]))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lead_ms(0.05, 1.0, 10), 1.2 * 0.05 * 2),  # the GPU is slower: two launches
        (lead_ms(0.1, 0.02, 10), 1.2 * 0.1 * 10),  # the host is: the whole turn
        (lead_ms(50.0, 1.0, 10), MAX_LEAD_MS),
        (settling_launches(protocol(), 1.5), 0),
        (settling_launches(protocol(settle_ms=100.0), 1.6), 63),
        (settling_launches(protocol(settle_ms=100.0), 500.0), 1),
        (settling_launches(protocol(settle_ms=100.0), 0.001), MAX_SETTLING),
        (turn_samples(protocol(samples=10), 0.01), 10),
        (turn_samples(protocol(samples=10, turn_min_ms=40.0), 1.5), 27),
        (turn_samples(protocol(samples=10, turn_min_ms=40.0), 20.0), 10),
        (turn_samples(protocol(samples=10, turn_min_ms=40.0), 0.01), MAX_SAMPLES),
    ],
)
def test_leads_launches_and_samples_are_bounded(found, wanted):
    assert found == wanted

"""stopwatch: order on the stream, warm-up by state, the lead of the slower side."""

from types import SimpleNamespace

import pytest
import torch

from assay.device.timing import stopwatch as module
from assay.device.timing.stopwatch import (
    CudaStopwatch,
    Keep,
    Timing,
    settle,
    settling_launches,
    turn_samples,
    warm_up,
)
from assay.shared.limits import MAX_LEAD_MS, MAX_SAMPLES, MAX_SETTLING, lead_ms
from tests.device.helpers import HostStopwatch, protocol


class FakeCuda:
    """Stands for torch.cuda; writes down what is enqueued, in order."""

    def __init__(self):
        self.log = []

    def get_device_properties(self, index):
        return SimpleNamespace(L2_cache_size=1024)

    def synchronize(self):
        self.log.append("synchronize")

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
        fake.sizes = sizes
        return fake

    def launch(self, fake):
        fake.log.append("launch")
        return Buffer(fake.log)

    def test_order_of_a_cold_checked_turn(self, fake):
        timing = CudaStopwatch(cold=True).turn(
            lambda: self.launch(fake),
            2,
            1.5,
            lambda number: fake.log.append(f"before {number}"),
            Keep(0, Buffer(fake.log)),
        )
        assert fake.sizes == [2048]
        sample = ["flush", "event", "launch", "event"]
        start = ["reset", "synchronize", "sleep 3000000"]
        # The copy comes before the host waits: unfinished work elsewhere would be missing in it.
        assert fake.log == [
            *start,
            *("before 0", *sample, "copy"),
            *("before 1", *sample, "synchronize"),
        ]
        assert timing.times_ms == [0.5, 0.5]

    def test_a_warm_unchecked_turn_neither_flushes_nor_keeps(self, fake):
        CudaStopwatch(cold=False).turn(lambda: self.launch(fake), 1)
        assert fake.log == ["reset", "synchronize", "event", "launch", "event", "synchronize"]

    def test_cycles_are_stamped_round_the_whole_turn(self, fake):
        counter = SimpleNamespace(
            stamp=lambda which: fake.log.append(f"stamp {which}"), read=lambda: 1755.0
        )
        timing = CudaStopwatch(cold=True, counter=counter).turn(lambda: self.launch(fake), 1, 0.5)
        assert timing.clock_mhz == 1755.0
        assert fake.log[2:5] == ["sleep 1000000", "stamp 0", "flush"]
        assert fake.log[-2:] == ["stamp 1", "synchronize"]


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


def warm(medians, **rules):
    stopwatch = Scripted(medians)
    result = warm_up(stopwatch, lambda: torch.empty(1), protocol(**rules), stopwatch.clock)
    return result, stopwatch.batches


class TestWarmUp:
    def test_ends_when_two_medians_agree(self):
        rules = {"warmup_min_ms": 1.0, "warmup_max_ms": 1e6, "warmup_stable_fraction": 0.01}
        result, batches = warm([9.0, 2.0, 1.5, 1.2, 1.0, 1.005, 7.0], **rules)
        assert batches == 6
        assert abs(result.gpu_ms - 3 * (2.0 + 1.5 + 1.2 + 1.0 + 1.005)) < 1e-9

    def test_lasts_the_least_time_even_if_stable(self):
        rules = {"warmup_min_ms": 30.0, "warmup_max_ms": 1e6, "warmup_stable_fraction": 0.01}
        _, batches = warm([1.0] * 100, **rules)
        assert batches - 1 in {10, 11}  # 30 ms of 3 ms batches, summed in floating point

    def test_gives_up_at_the_most_time(self):
        rules = {"warmup_min_ms": 1.0, "warmup_max_ms": 30.0, "warmup_stable_fraction": 0.01}
        _, batches = warm([1.0, 2.0] * 50, **rules)
        assert batches < 12


class TestLead:
    def test_two_launches_where_the_gpu_is_slower(self):
        assert lead_ms(0.05, 1.0, 10) == 1.2 * 0.05 * 2

    def test_the_whole_turn_where_the_host_is_slower(self):
        assert lead_ms(0.1, 0.02, 10) == 1.2 * 0.1 * 10

    def test_is_bounded(self):
        assert lead_ms(50.0, 1.0, 10) == MAX_LEAD_MS


class TestSettling:
    def test_none_where_the_protocol_asks_for_none(self):
        assert settling_launches(protocol(), 1.5) == 0

        def launch():
            pytest.fail("nothing is to be launched")

        assert settle(HostStopwatch(), launch, 0, launch) == 0.0

    def test_as_many_launches_as_fill_the_time(self):
        assert settling_launches(protocol(settle_ms=100.0), 1.6) == 63
        assert settling_launches(protocol(settle_ms=100.0), 500.0) == 1

    def test_a_short_kernel_settles_for_a_bounded_number(self):
        assert settling_launches(protocol(settle_ms=100.0), 0.001) == MAX_SETTLING


class TestTurnSamples:
    def test_the_protocols_count_where_no_least_time_is_asked_for(self):
        assert turn_samples(protocol(samples=10), 0.01) == 10

    def test_as_many_as_fill_the_least_time(self):
        assert turn_samples(protocol(samples=10, turn_min_ms=40.0), 1.5) == 27
        assert turn_samples(protocol(samples=10, turn_min_ms=40.0), 20.0) == 10

    def test_a_short_kernel_does_not_fill_the_evidence(self):
        assert turn_samples(protocol(samples=10, turn_min_ms=40.0), 0.01) == MAX_SAMPLES

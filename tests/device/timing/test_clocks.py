"""clocks: cycles by time, over the SMs that were stamped twice."""

import torch

from assay.device.timing import clocks
from assay.device.timing.clocks import SLOTS, clock_mhz, open_counter


def stamps(cycles, nanoseconds, sms=3):
    table = torch.zeros(SLOTS, 2, dtype=torch.int64)
    table[:sms, 0], table[:sms, 1] = cycles, nanoseconds
    return table


def test_median_over_the_stamped_sms():
    before, after = stamps(1_000, 5_000), stamps(1_756_000, 1_005_000)
    after[1, 0] += 40_000  # one SM counts otherwise
    assert clock_mhz(before, after) == 1755.0


def test_without_a_driver_there_is_a_reason_and_no_counter(monkeypatch):
    def no_driver(name):
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(clocks, "DEVICE", "cpu")
    monkeypatch.setattr(clocks.ctypes, "CDLL", no_driver)
    counter, remark = open_counter()
    assert counter is None
    assert remark == "no cycles: libcuda.so.1: cannot open shared object file"

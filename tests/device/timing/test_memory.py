"""memory: what an arm keeps from binding it, and the most that its launches hold beyond that."""

import pytest

from assay.device.timing import memory
from assay.device.timing.memory import MemoryWatch


class Allocator:
    """As PyTorch's, told what is allocated."""

    def __init__(self):
        self.now = self.most = 0

    def memory_allocated(self):
        return self.now

    def max_memory_allocated(self):
        return self.most

    def reset_peak_memory_stats(self):
        self.most = self.now

    def hold(self, count):
        self.now += count
        self.most = max(self.most, self.now)


@pytest.fixture
def allocator(monkeypatch):
    made = Allocator()
    monkeypatch.setattr(memory.torch, "cuda", made)
    return made


def test_kept_and_passing_memory_add_up_and_others_do_not_count(allocator):
    allocator.hold(1000)  # inputs
    watch = MemoryWatch("cuda")
    for arm, kept in (("ours", 64), ("theirs", 0)):
        watch.start()
        allocator.hold(kept)
        watch.bound(arm)
    for arm, passing in (("ours", 0), ("theirs", 300)):
        watch.start()
        allocator.hold(passing)
        allocator.hold(-passing)
        watch.launched(arm)
    assert (watch.launch_bytes("ours"), watch.launch_bytes("theirs")) == (64, 300)

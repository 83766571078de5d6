"""memory: what an arm keeps from binding it, and the most that its launches hold beyond that."""

import pytest
import torch

from assay.device.kernels.inputs import make_inputs
from assay.device.timing import memory
from assay.device.timing.memory import MemoryWatch, input_bytes
from tests.device.helpers import sparse_attention_workload


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


def test_without_a_gpu_nothing_is_known():
    watch = MemoryWatch("cpu")
    watch.start()
    watch.bound("ours")
    watch.launched("ours")
    assert watch.launch_bytes("ours") is None


def test_inputs_are_values_and_lists():
    inputs = make_inputs(sparse_attention_workload(), "cpu", 1)
    values = 3 * 2 * 3 * 64 * 16 * torch.float16.itemsize
    lists = (4 + 4 * 2) * torch.int32.itemsize
    assert input_bytes(inputs) == values + lists

"""attention: what a launch needs lives as long as the launch, and its sizes are the workload's."""

import pytest
import torch

from assay.device.kernels.attention import bind_attention, sizes_of
from assay.device.kernels.inputs import make_inputs
from assay.shared.attention_call import NO_BOUND
from assay.shared.errors import Unsupported
from assay.shared.specs import PatternSpec, VariantSpec
from tests.device.helpers import sparse_attention_workload

VARIANT = VariantSpec(
    "ours", "block_sparse_attention", "kernel", "launch", "block_sparse_attention"
)


class Launcher:
    """As a compiled kernel's: keeps what it was called with."""

    def __init__(self, code=0):
        self.code, self.calls = code, []

    def workspace_bytes(self, call):
        return 256

    def launch(self, call, workspace, size, stream):
        self.calls.append((call, workspace, size, stream))
        return self.code


def test_a_refusal_is_unsupported():
    inputs = make_inputs(sparse_attention_workload(), "cpu", 1)
    prepared = bind_attention(Launcher(code=1), VARIANT, inputs, lambda: 0)
    with pytest.raises(Unsupported, match="ours"):
        prepared.launch()


def test_sizes_are_the_workloads():
    workload = sparse_attention_workload(
        heads=4, kv_heads=2, layout="bshd", window_left=20, pattern=PatternSpec("random", 16, 16, 3)
    )
    inputs = make_inputs(workload, "cpu", 1)
    sizes = sizes_of(inputs, inputs.new_output())
    assert (sizes.batches, sizes.heads, sizes.kv_heads) == (2, 4, 2)
    assert (sizes.window_left, sizes.window_right) == (20, NO_BOUND)
    assert sizes.scale == pytest.approx(0.25)
    assert sizes.strides["q"] == sizes.strides["o"] == (64 * 4 * 16, 16, 4 * 16)
    assert sizes.strides["k"] == (64 * 2 * 16, 16, 2 * 16)
    lists = inputs.tensors
    assert sizes.full_pitch == lists["full_columns"].shape[-1]
    assert sizes.partial_pitch == lists["partial_columns"].shape[-1]
    both = lists["full_counts"] + lists["partial_counts"]
    assert torch.equal(both, torch.full_like(both, 3))

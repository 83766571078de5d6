"""attention_rivals: what runs on a CPU agrees with the oracle; stand-ins show how others are
called.
"""

import pytest
import torch

from assay.device.kernels.attention_rivals import (
    flex_block_lists,
)
from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.inputs import fill, make_inputs
from assay.device.kernels.oracles import measure_errors, oracle
from assay.shared.specs import PatternSpec
from tests.device.helpers import sparse_attention_workload


@pytest.fixture
def uncompiled(monkeypatch):
    """FlexAttention as it runs without a compiler, which no CPU here has."""
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)


@pytest.mark.usefixtures("uncompiled")
class TestFlexAttention:
    @pytest.mark.parametrize("heads", [{}, {"heads": 4, "kv_heads": 2, "layout": "bshd"}])
    def test_a_window_agrees_with_the_oracle(self, heads):
        """Without a compiler it masks by element alone, so that the blocks must hold the window."""
        pattern = PatternSpec("sliding_window", 16, 16, 3)
        workload = sparse_attention_workload(
            pattern=pattern, window_left=20, window_right=0, **heads
        )
        inputs = make_inputs(workload, "cpu", 1)
        prepared = prepare_library("flex_attention", inputs)
        fill(inputs, 2)
        assert measure_errors(prepared.launch(), oracle(inputs)).within(workload)

    def test_lists_select_the_patterns_blocks_and_mask_only_those_that_are_cut(self):
        from torch.nn.attention.flex_attention import BlockMask

        pattern = PatternSpec("sliding_window", 16, 16, 3)
        workload = sparse_attention_workload(pattern=pattern, window_left=40, window_right=0)
        inputs = make_inputs(workload, "cpu", 1)
        partial, full = (
            flex_block_lists(inputs, kind, inputs.blocks) for kind in ("partial", "full")
        )
        mask = BlockMask.from_kv_blocks(*partial, *full, BLOCK_SIZE=(16, 16), seq_lengths=(64, 64))
        expected = torch.ones(4, 4).tril().triu(-2)
        assert torch.equal(mask.to_dense()[0, 0].float(), expected)
        assert full[0].flatten().tolist() == [0, 1, 1, 1]

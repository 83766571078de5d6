"""attention_rivals: what runs on a CPU agrees with the oracle; stand-ins show how others are
called.
"""

import pytest
import torch

from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.drawn_inputs import fill, make_inputs
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
        assert not measure_errors(prepared.launch(), oracle(inputs)).beyond(workload)

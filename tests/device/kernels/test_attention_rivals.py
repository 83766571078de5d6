"""attention_rivals: what runs on a CPU agrees with the oracle; stand-ins show how others are
called.
"""

import sys
from types import SimpleNamespace

import pytest
import torch
from torch.nn.attention import flex_attention

from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.drawn_inputs import fill, make_inputs
from assay.device.kernels.oracles import errors_of, measure_errors, oracle
from assay.device.timing.sign_flips import signs_of
from assay.shared.errors import Unsupported
from assay.shared.specs import PatternSpec
from tests.device.helpers import gradient_workload, sparse_attention_workload


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

    def test_gradients_follow_contents_that_change_without_a_forward_pass(self, monkeypatch):
        """PyTorch itself refuses gradients on a CPU, where it has no kernel for them."""
        monkeypatch.setattr(flex_attention, "_validate_device", lambda *_: None)
        pattern = PatternSpec("sliding_window", 16, 16, 3)
        workload = gradient_workload(
            dtype="float32", pattern=pattern, window_left=20, window_right=0, heads=4, kv_heads=2
        )
        inputs = make_inputs(workload, "cpu", 1)
        prepared = prepare_library("flex_gradients", inputs)
        right, signs = oracle(inputs), signs_of(inputs, "s")
        for _ in range(3):
            signs.step()
            found = signs.turned_back(inputs.joined(prepared.launch()), signs.snapshot())
            assert errors_of(inputs, found, right).relative < 1e-5
        fill(inputs, 2)
        prepared.refresh()
        found = inputs.joined(prepared.launch())
        assert errors_of(inputs, found, oracle(inputs)).relative < 1e-5


class TestGradientsOfLibraries:
    """What is handed to libraries that no CPU can run, and what becomes of their results."""

    def test_flash_attention_is_given_the_rows_of_each_key_block(self, monkeypatch):
        handed = []

        def backward(q, k, v, o, grad, lse, *, block_sparse_tensors):
            handed.append((o, grad, lse, block_sparse_tensors))
            return q, k, v, None

        interface = SimpleNamespace(_flash_attn_bwd=backward)
        monkeypatch.setitem(sys.modules, "flash_attn.cute.interface", interface)
        lists = SimpleNamespace(BlockSparseTensorsTorch=lambda *given, **named: (given, named))
        monkeypatch.setitem(sys.modules, "flash_attn.cute.block_sparsity", lists)
        inputs = make_inputs(gradient_workload(), "cpu", 1)
        prepared = prepare_library("fa4_gradients", inputs)
        t = inputs.tensors
        assert torch.equal(
            prepared.arranged(prepared.launch()), inputs.joined([t[name] for name in "qkv"])
        )
        (o, grad, lse, ((none, _, counts, rows), named)) = handed[0]
        assert torch.equal(o.transpose(1, 2), t["o"])
        assert torch.equal(grad.transpose(1, 2), t["grad"])
        assert lse is t["lse"]
        assert not none.any()
        assert named == {"block_size": (16, 16)}
        pairs = {
            (int(row), column)
            for column in range(4)
            for row in rows[0, 0, column, : counts[0, 0, column]]
        }
        assert pairs == {
            (row, int(column))
            for row, begin, end in inputs.blocks.rows()
            for column in inputs.blocks.col_idx[begin:end]
        }

    @pytest.mark.parametrize("entry", ["fa4_gradients", "cudnn_gradients"])
    def test_a_window_is_refused(self, entry, monkeypatch):
        for module in ("flash_attn.cute.interface", "flash_attn.cute.block_sparsity",
                       "cudnn.block_sparse_attention.api"):  # fmt: skip
            monkeypatch.setitem(sys.modules, module, SimpleNamespace())
        inputs = make_inputs(gradient_workload(window_left=20, window_right=0), "cpu", 1)
        with pytest.raises(Unsupported):
            prepare_library(entry, inputs)

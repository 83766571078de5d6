"""attention_rivals: what runs on a CPU agrees with the oracle; stand-ins show how others are
called.
"""

import dataclasses
import sys
import types

import pytest
import torch

from assay.device.kernels.attention_oracle import attend
from assay.device.kernels.attention_rivals import (
    FLASHINFER_WORKSPACE,
    flex_block_lists,
)
from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.inputs import fill, make_inputs
from assay.device.kernels.oracles import measure_errors, oracle
from assay.shared.specs import PatternSpec
from assay.shared.stored_blocks import ragged_blocks
from tests.device.helpers import attention_workload, sparse_attention_workload


class TestFlashAttention3:
    """Its wheel is optional, has bf16 alone and another order of dimensions."""

    BF16 = dataclasses.replace(attention_workload(), dtype="bfloat16", relative_tolerance=5e-3)

    @pytest.fixture
    def installed(self, monkeypatch):
        """A module in its place, which computes [B, S, H, D] as the wheel does."""
        seen = {}

        def flash_attn_func(q, k, v, causal):
            seen.update(shape=tuple(q.shape), causal=causal)
            heads_first = (x.transpose(1, 2) for x in (q, k, v))
            out = torch.nn.functional.scaled_dot_product_attention(*heads_first)
            return out.transpose(1, 2)

        module = types.ModuleType("fa3_fwd_interface")
        module.flash_attn_func = flash_attn_func
        monkeypatch.setitem(sys.modules, "fa3_fwd_interface", module)
        return seen

    def test_agrees_with_the_oracle_and_follows_new_contents(self, installed):
        inputs = make_inputs(self.BF16, "cpu", 1)
        prepared = prepare_library("fa3", inputs)
        fill(inputs, 2)
        assert measure_errors(prepared.launch(), oracle(inputs)).within(self.BF16)
        w = self.BF16
        expected = {"shape": (w.batch, w.seq_q, w.heads, w.head_dim), "causal": False}
        assert installed == expected


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


def attended(q, k, v, keep):
    """Attention of [B, S, H, D] over the scores that ``keep`` [S, S] leaves."""
    heads_first = (tensor.transpose(1, 2) for tensor in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(*heads_first, attn_mask=keep)
    return out.transpose(1, 2)


def grid_of(counts, columns, cols, size):
    """Bool [S, S] of lists [1 or B, 1 or H, rows], [..., pitch] of blocks."""
    grid = torch.zeros(counts.shape[-1], cols, dtype=torch.bool)
    for row, count in enumerate(counts[0, 0].tolist()):
        grid[row, columns[0, 0, row, :count].long()] = True
    return grid.repeat_interleave(size, 0).repeat_interleave(size, 1)


def install(monkeypatch, name, **contents):
    """Put a module of that dotted name, and its parents, in place."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        module = types.ModuleType(".".join(parts[:end]))
        module.__path__ = []
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for key, value in contents.items():
        setattr(module, key, value)


class TestFlashAttentionCute:
    @pytest.fixture
    def installed(self, monkeypatch):
        seen = {}

        class Lists:
            def __init__(self, mask_cnt, mask_idx, full_cnt, full_idx, block_size):
                assert not mask_cnt.any()
                self.keep = grid_of(full_cnt, full_idx, 4, block_size[1])

        def forward(q, k, v, block_sparse_tensors=None, window_size_left=None,
                    window_size_right=None, causal=False):  # fmt: skip
            seen["windows"] = window_size_left, window_size_right
            keep = torch.ones(64, 64, dtype=torch.bool)
            if block_sparse_tensors is not None:
                keep = block_sparse_tensors.keep
            elif window_size_left is not None:
                keep = keep.tril(window_size_right).triu(-window_size_left)
            return attended(q, k, v, keep), None

        install(monkeypatch, "flash_attn.cute.block_sparsity", BlockSparseTensorsTorch=Lists)
        interface = types.ModuleType("flash_attn.cute.interface")
        interface._flash_attn_fwd = forward
        monkeypatch.setitem(sys.modules, interface.__name__, interface)
        return seen

    @pytest.mark.parametrize(
        ("entry", "workload"),
        [
            ("fa4", attention_workload()),
            ("fa4_sparse", sparse_attention_workload(layout="bshd")),
            (
                "fa4_sparse",
                sparse_attention_workload(
                    pattern=PatternSpec("sliding_window", 16, 16, 3), window_left=31, window_right=0
                ),
            ),
        ],
    )
    def test_agrees_with_the_oracle(self, entry, workload, installed):
        inputs = make_inputs(workload, "cpu", 1)
        prepared = prepare_library(entry, inputs)
        fill(inputs, 2)
        assert measure_errors(prepared.launch(), oracle(inputs)).within(workload)
        assert installed["windows"] == (workload.window_left, workload.window_right)


class TestCudnnBlockSparse:
    @pytest.fixture
    def installed(self, monkeypatch):
        seen = {}

        def forward(q, k, v, columns, sparse_block_size, **options):
            seen.update(options=sorted(options))
            assert columns.is_contiguous()
            assert columns.shape[:2] == q.shape[:2]
            counts = options.get("q2k_block_nums")
            if counts is None:
                counts = torch.full(columns.shape[:3], columns.shape[3])
            if sparse_block_size != 16:
                raise NotImplementedError("blocks of 16")
            keep = grid_of(counts, columns, 4, sparse_block_size)
            sequence_first = (tensor.transpose(1, 2) for tensor in (q, k, v))
            return {"o_tensor": attended(*sequence_first, keep).transpose(1, 2).nan_to_num()}

        install(monkeypatch, "cudnn.block_sparse_attention.api",
                block_sparse_attention_forward=forward)  # fmt: skip
        return seen

    def test_rows_of_many_lengths_take_counts(self, installed):
        workload = sparse_attention_workload()
        blocks = ragged_blocks(workload.pattern, 4, 4, 1)
        inputs = make_inputs(workload, "cpu", 1, (blocks, None))
        output = prepare_library("cudnn_sparse", inputs).launch()
        assert measure_errors(output, attend(inputs).output).within(workload)
        assert installed["options"] == ["allow_empty_block_nums", "q2k_block_nums"]


class TestFlashInfer:
    @pytest.fixture
    def installed(self, monkeypatch):
        seen = {}

        class Wrapper:
            def __init__(self, workspace, backend):
                seen.update(workspace=workspace.numel(), backend=backend)

            def plan(self, selected, rows, columns, heads, key_heads, head_dim, q_data_type):
                if q_data_type != torch.bfloat16:
                    raise ValueError("bf16 alone")
                assert selected.shape == (heads, rows.shape[1], columns.shape[1])
                assert (heads, key_heads) == (rows.shape[0], columns.shape[0])
                seen.update(head_dim=head_dim)
                size = int(rows[0, 0])
                grid = selected[0].repeat_interleave(size, 0)
                self.keep = grid.repeat_interleave(int(columns[0, 0]), 1)

            def run(self, q, k, v):
                sequence_first = (tensor[None].transpose(1, 2) for tensor in (q, k, v))
                return attended(*sequence_first, self.keep).transpose(1, 2)[0]

        install(monkeypatch, "flashinfer.sparse", VariableBlockSparseAttentionWrapper=Wrapper)
        return seen

    def test_agrees_with_the_oracle_and_follows_new_contents(self, installed):
        workload = sparse_attention_workload(
            batch=1, dtype="bfloat16", relative_tolerance=5e-3, max_abs_tolerance=None
        )
        inputs = make_inputs(workload, "cpu", 1)
        prepared = prepare_library("flashinfer_sparse", inputs)
        fill(inputs, 2)
        assert measure_errors(prepared.launch(), oracle(inputs)).within(workload)
        assert installed == {
            "workspace": FLASHINFER_WORKSPACE,
            "backend": "cake",
            "head_dim": workload.head_dim,
        }

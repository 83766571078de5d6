"""baselines: those that run on a CPU too agree with the oracle."""

import dataclasses
import re
import sys
import types
from pathlib import Path

import pytest
import torch

from assay.device.kernels.baselines import (
    PREPARE,
    flex_block_lists,
    lacks_backend,
    lacks_fp8,
    prepare_library,
)
from assay.device.kernels.inputs import fill, make_inputs
from assay.device.kernels.oracles import measure_errors, oracle
from assay.shared.errors import RivalMissing, Unsupported
from tests.device.helpers import (
    attention_workload,
    bsr_workload,
    dense_workload,
    fp8_dense_workload,
    sparse_attention_workload,
)

GROUPED = dataclasses.replace(dense_workload(), operation="grouped_gemm", groups=3)


@pytest.mark.parametrize(
    ("entry", "workload"),
    [
        ("cublas_dense", dense_workload()),
        ("cublas_dense", dense_workload(dtype="bfloat16", relative_tolerance=5e-3)),
        ("scaled_mm", fp8_dense_workload()),
        ("torch_bmm", GROUPED),
        ("sdpa_math", attention_workload()),
        ("sdpa_flash", attention_workload()),
        ("sdpa_math", attention_workload(causal=True)),
    ],
)
def test_agrees_with_the_oracle_and_follows_new_contents(entry, workload):
    inputs = make_inputs(workload, "cpu", 1)
    prepared = prepare_library(entry, inputs)
    prepared.poison()
    assert measure_errors(prepared.launch(), oracle(inputs)).within(workload)
    fill(inputs, 2)
    prepared.refresh()
    assert measure_errors(prepared.launch(), oracle(inputs)).within(workload)


def test_writes_into_one_buffer():
    prepared = prepare_library("cublas_dense", make_inputs(dense_workload(), "cpu", 1))
    assert prepared.launch().data_ptr() == prepared.buffer.data_ptr()


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

    def test_fp16_is_refused(self, installed):
        with pytest.raises(Unsupported, match="bfloat16"):
            prepare_library("fa3", make_inputs(attention_workload(), "cpu", 1))

    def test_without_the_wheel_it_is_not_installed(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "fa3_fwd_interface", None)
        with pytest.raises(RivalMissing, match="fa3_fwd_interface"):
            prepare_library("fa3", make_inputs(self.BF16, "cpu", 1))


def test_a_backend_that_refuses_is_unsupported():
    prepared = prepare_library("sdpa_efficient", make_inputs(attention_workload(), "cpu", 1))
    with pytest.raises(Unsupported, match="EFFICIENT_ATTENTION"):
        prepared.launch()


class TestScaledMm:
    """FP8 where the library takes it, one sentence where it does not."""

    def test_writes_bfloat16_into_one_buffer(self):
        prepared = prepare_library("scaled_mm", make_inputs(fp8_dense_workload(), "cpu", 1))
        assert prepared.launch().data_ptr() == prepared.buffer.data_ptr()
        assert prepared.buffer.dtype == torch.bfloat16

    def test_refuses_other_types_and_unaligned_shapes(self):
        for workload in (dense_workload(), fp8_dense_workload(n=40), fp8_dense_workload(k=72)):
            with pytest.raises(Unsupported, match=r"torch\._scaled_mm"):
                prepare_library("scaled_mm", make_inputs(workload, "cpu", 1))

    def test_a_device_without_fp8_is_unsupported(self, monkeypatch):
        def refuse(*_, **__):
            raise RuntimeError("torch._scaled_mm is only supported on CUDA devices\nwith ...")

        monkeypatch.setattr(torch, "_scaled_mm", refuse)
        prepared = prepare_library("scaled_mm", make_inputs(fp8_dense_workload(), "cpu", 1))
        with pytest.raises(Unsupported, match=r"only supported on CUDA devices$"):
            prepared.launch()

    def test_any_other_error_is_the_arms_own(self, monkeypatch):
        def fail(*_, **__):
            raise RuntimeError("CUDA error: an illegal memory access")

        monkeypatch.setattr(torch, "_scaled_mm", fail)
        prepared = prepare_library("scaled_mm", make_inputs(fp8_dense_workload(), "cpu", 1))
        with pytest.raises(RuntimeError, match="illegal"):
            prepared.launch()


def test_unknown_entry_names_the_known_ones():
    with pytest.raises(RuntimeError, match="cublas_dense"):
        prepare_library("magic", make_inputs(dense_workload(), "cpu", 1))


def test_every_entry_of_the_kernel_manifests_is_here():
    manifests = sorted(Path(__file__).parents[3].glob("kernels/*/kernel.yaml"))
    entries = {
        name
        for path in manifests
        for name in re.findall(r"^\s*entry:\s*(\S+)", path.read_text(), re.MULTILINE)
    }
    assert entries
    assert entries <= set(PREPARE)


def test_flex_block_mask_selects_the_patterns_blocks():
    from torch.nn.attention.flex_attention import BlockMask

    inputs = make_inputs(sparse_attention_workload(), "cpu", 1)
    counts, indices = flex_block_lists(inputs.blocks, "cpu")
    none = torch.zeros_like(counts), torch.zeros_like(indices)
    mask = BlockMask.from_kv_blocks(
        *none, counts, indices, BLOCK_SIZE=(16, 16), seq_lengths=(64, 64)
    )
    expected = torch.zeros(4, 4)
    for row, begin, end in inputs.blocks.rows():
        expected[row, inputs.blocks.col_idx[begin:end].tolist()] = 1
    assert torch.equal(mask.to_dense()[0, 0].float(), expected)


def test_torch_bsr_shares_the_values():
    inputs = make_inputs(bsr_workload(), "cpu", 1)
    matrix = torch.sparse_bsr_tensor(
        inputs.tensors["a_row_ptr"],
        inputs.tensors["a_col_idx"],
        inputs.tensors["a_values"],
        size=(64, 96),
        check_invariants=False,
    )
    assert matrix.values().data_ptr() == inputs.tensors["a_values"].data_ptr()


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0", True),
        ("\"addmm_impl_cpu_\" not implemented for 'Float8_e4m3fn'", False),
        ("Could not run 'aten::_scaled_mm' with arguments from the 'CPU' backend.", True),
        ("CUDA error: an illegal memory access was encountered", False),
    ],
)
def test_pytorchs_words_for_a_device_without_fp8(text, lacking):
    assert lacks_fp8(RuntimeError(text)) is lacking


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("No available kernel. Aborting execution.", True),
        ("No viable backend for scaled_dot_product_attention was found.", True),
        ("CUDA error: an illegal memory access was encountered", False),
    ],
)
def test_pytorchs_words_for_a_backend_that_takes_no_such_problem(text, lacking):
    assert lacks_backend(RuntimeError(text)) is lacking

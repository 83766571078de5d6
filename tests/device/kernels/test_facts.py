"""facts: FLOPs of stored blocks, least traffic, pattern hash, by hand."""

import dataclasses

from assay.device.kernels.facts import launch_facts
from assay.device.kernels.inputs import make_inputs, workload_blocks
from assay.device.kernels.oracles import densify
from assay.shared import sparsity as patterns
from assay.shared.job import PatternSpec
from tests.device.helpers import (
    attention_workload,
    bsr_bsr_workload,
    bsr_workload,
    dense_workload,
    fp8_dense_workload,
    fp8_workload,
    load_workload,
    sparse_attention_workload,
)


def facts(workload):
    return launch_facts(workload, *workload_blocks(workload, workload.seed))


def test_bsr_gemm():
    workload = bsr_workload(pattern=PatternSpec("random", 16, 32, 3))  # all columns in every row
    result = facts(workload)
    assert result.flop == 2 * 64 * 32 * 96
    assert result.bytes == 2 * (64 * 96 + 96 * 32 + 64 * 32) + 4 * (5 + 12)
    assert result.stored_blocks == 12
    assert result.density == 1.0
    assert result.pattern_sha256 == patterns.digest(*patterns.generate("random", 4, 3, 3, 1))


def test_rows_of_b_that_no_block_meets_are_not_counted():
    workload = bsr_workload(m=16, pattern=PatternSpec("random", 16, 32, 1))
    assert facts(workload).bytes == 2 * (16 * 32 + 32 * 32 + 16 * 32) + 4 * (2 + 1)


def test_bsr_bsr_counts_the_products_that_happen():
    workload = bsr_bsr_workload()
    inputs = make_inputs(workload, "cpu", 1)
    a = densify(inputs.blocks, inputs.tensors["a_values"].double(), (64, 96)) != 0
    b = densify(inputs.blocks_b, inputs.tensors["b_values"].double(), (96, 32)) != 0
    multiplications = int((a.double() @ b.double()).sum())
    assert facts(workload).flop == 2 * multiplications


def test_dense_and_grouped():
    assert facts(dense_workload()).flop == 2 * 64 * 32 * 96
    grouped = dataclasses.replace(dense_workload(), operation="grouped_gemm", groups=7)
    assert facts(grouped).flop == 7 * 2 * 64 * 32 * 96
    assert facts(grouped).bytes == 7 * facts(dense_workload()).bytes
    assert facts(grouped).pattern_sha256 is None


def test_fp8_inputs_are_one_byte_and_results_two():
    assert facts(fp8_dense_workload()).bytes == 64 * 96 + 96 * 32 + 2 * 64 * 32
    workload = fp8_workload(pattern=PatternSpec("random", 16, 32, 3))
    assert facts(workload).flop == 2 * 64 * 32 * 96
    assert facts(workload).bytes == 64 * 96 + 96 * 32 + 2 * 64 * 32 + 4 * (5 + 12)


def test_tile_loads():
    result = facts(load_workload(m=30, k=200))
    assert result.flop == 30 * 200
    assert result.bytes == 2 * 30 * 200 + 4 * 30 * 4
    assert result.stored_blocks is None


def test_attention():
    dense = facts(attention_workload())
    assert dense.flop == 4 * 6 * 64 * 64 * 16
    assert dense.bytes == 2 * 6 * 64 * 16 * 4
    sparse = facts(sparse_attention_workload())
    assert sparse.flop == dense.flop // 2
    assert sparse.density == 0.5


def test_sliding_window_counts_whole_blocks():
    workload = sparse_attention_workload(pattern=PatternSpec("sliding_window", 16, 16, 2))
    assert facts(workload).stored_blocks == 1 + 2 + 2 + 2

"""facts: FLOPs of stored blocks, least traffic, pattern hash, by hand."""

import dataclasses

import pytest

from assay.shared.launch_facts import launch_facts
from assay.shared.specs import PatternSpec
from assay.shared.stored_blocks import workload_blocks
from tests.device.helpers import (
    attention_workload,
    bsr_bsr_workload,
    bsr_workload,
    dense_workload,
    drawn_workload,
    fp8_workload,
    gradient_workload,
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


def test_attention():
    dense = facts(attention_workload())
    assert dense.flop == 4 * 6 * 64 * 64 * 16
    assert dense.bytes == 2 * 6 * 64 * 16 * 4
    sparse = facts(sparse_attention_workload())
    assert sparse.flop == dense.flop // 2
    assert sparse.density == 0.5


def test_gradients_count_five_products_and_twice_as_many_tensors():
    pattern = PatternSpec("sliding_window", 16, 16, 1)  # one block a row, each key in one of them
    of = {"pattern": pattern, "heads": 6, "kv_heads": 3}
    found, forward = facts(gradient_workload(**of)), facts(sparse_attention_workload(**of))
    assert found.flop == 10 * 2 * 6 * 4 * 16 * 16 * 16
    assert (found.counts, found.density) == (forward.counts, forward.density)
    indices = 4 * (5 + 4)
    assert forward.bytes - indices == 2 * 2 * (2 * 6 + 2 * 3) * 64 * 16
    assert found.bytes - indices == 2 * (forward.bytes - indices) + 4 * 2 * 6 * 64


@pytest.mark.parametrize(
    "workload",
    [
        bsr_workload(),
        bsr_workload(m=60, k=90),
        bsr_bsr_workload(),
        drawn_workload(),
        dense_workload(),
        dense_workload(groups=7),
        fp8_workload(),
    ],
    ids=lambda w: f"{w.id}_{w.k}",
)
def test_counts_of_products_give_the_flop(workload):
    if workload.groups:
        workload = dataclasses.replace(workload, operation="grouped_gemm")
    found = facts(workload)
    c = found.counts
    assert 2 * c["products"] * c["block_m"] * c["block_k"] * c["block_n"] == found.flop
    assert (c["m"], c["n"], c["k"]) == (workload.m, workload.n, workload.k)
    assert c["true_products"] >= c["products"]


def test_counts_of_attention_give_the_flop():
    causal = attention_workload(causal=True)
    assert facts(causal).flop == 4 * 2 * 3 * 16 * sum(range(1, 65))
    for workload in (attention_workload(), causal, sparse_attention_workload()):
        found = facts(workload)
        c = found.counts
        products = c["products"] * c["block_m"] * c["block_n"]
        assert 4 * c["b"] * c["h"] * c["d"] * products == found.flop
        assert 4 * c["b"] * c["h"] * c["q"] * c["k_len"] * c["d"] * c["density_a"] == found.flop

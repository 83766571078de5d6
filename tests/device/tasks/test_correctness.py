"""correctness: right passes; each cheat is caught by the check meant for it."""

import dataclasses
import math

import pytest
import torch

from assay.device.kernels.attention_oracle import attend
from assay.device.kernels.oracles import oracle
from assay.device.kernels.prepared import Prepared
from assay.device.tasks import gate_shapes
from assay.device.tasks.correctness import arm_record
from assay.device.worker.forks import ChildOutcome, run_child
from assay.shared.errors import RivalMissing
from tests.device.helpers import (
    bsr_bsr_workload,
    bsr_workload,
    drawn_workload,
    gate,
    honest,
    load_workload,
    make_arm,
    sparse_attention_workload,
)


@pytest.fixture(autouse=True)
def large_is_small(monkeypatch):
    """A CPU needs half a minute for what a GPU does in a tenth of a second."""
    for name, value in {"LARGE_M": 320, "LARGE_K": 256, "MANY_BLOCK_ROWS": 20}.items():
        monkeypatch.setattr(gate_shapes, name, value)


def check(workload, prepare, kind="library"):
    result = gate(make_arm("arm", workload, kind), prepare=prepare)
    failed = {entry["name"] for entry in result["checks"] if not entry["passed"]}
    return result, failed


def test_what_is_wrong_by_nature_passes_and_its_error_is_kept(validated):
    arm = make_arm("arm", drawn_workload(), "kernel")
    result = gate(arm, prepare=honest)
    assert result["status"] == "correct"
    record = arm_record(arm, ChildOutcome(result, None, "", 0.0))
    true = validated("ArmCorrectness", record).true_product
    assert true.seed == 1
    assert 0 < true.missed == 1 - true.products / true.true_products < 1
    assert true.relative_error > 0.1


@pytest.mark.parametrize(
    ("workload", "extra"),
    [
        (bsr_workload(), {"ragged", "unaligned", "rounds", "many_rows"}),
        (bsr_bsr_workload(), {"ragged"}),
        (load_workload(), {"unaligned"}),
    ],
)
def test_kernels_are_given_small_odd_shapes_too(workload, extra):
    result, failed = check(workload, honest, "kernel")
    assert not failed
    names = {entry["name"] for entry in result["checks"]}
    assert names == {"timed_shape", "poisoned", "inputs_unchanged", "repeat"} | extra


def test_a_library_that_is_not_here_is_not_installed():
    def prepare(arm, inputs):
        raise RivalMissing("no module named fa3")

    result, _ = check(bsr_workload(), prepare)
    assert (result["status"], result["detail"]) == ("not_installed", "no module named fa3")


def test_the_record_of_a_crash_names_where_it_happened(validated):
    def work(note):
        note("ragged, seed 1")
        raise RuntimeError("illegal address")

    arm = make_arm("arm", bsr_workload())
    record = arm_record(arm, run_child(work, 10))
    assert validated("ArmCorrectness", record).status == "failed"
    assert record["detail"] == "RuntimeError: illegal address (ragged, seed 1)"


@pytest.mark.parametrize("wrong", ["rounds", "many_rows"])
def test_a_kernel_that_is_wrong_in_a_large_shape_alone_is_caught(wrong):
    """As one whose later tiles or whose unsorted rows come out wrong."""
    size = {"rounds": 1032, "many_rows": 8}[wrong]

    def prepare(arm, inputs):
        out = inputs.new_output()

        def launch():
            out.copy_(oracle(inputs))
            if inputs.workload.n == size:
                out[-1, -1] += 100.0
            return out

        return Prepared(launch, out)

    result, failed = check(bsr_workload(), prepare, "kernel")
    assert result["status"] == "incorrect"
    assert failed == {wrong}


class TestAttentionKernels:
    """A kernel of block-sparse attention is asked for more: its log-sum-exps, FlashAttention's rule
    for errors, and shapes that only some kernels get right.
    """

    @staticmethod
    def bound(change=lambda inputs: inputs, sums=lambda value: value):
        """An attention kernel that solves what ``change`` makes of its problem."""

        def prepare(arm, inputs):
            out = inputs.new_output()
            found = torch.empty(out.shape[:3])

            def launch():
                right = attend(change(inputs))
                found.copy_(sums(right.log_sum_exp))
                return out.copy_(right.output)

            return Prepared(launch, out, log_sum_exp=found)

        return prepare

    def test_a_right_one_passes_every_check(self):
        workload = sparse_attention_workload(seq_q=60)
        result, failed = check(workload, self.bound(), "kernel")
        assert not failed
        names = {entry["name"] for entry in result["checks"]}
        shapes = {name for name, _, _ in gate_shapes.small_shapes(workload)}
        assert shapes == {"ragged", "unaligned", "shared_heads", "window", "large_logits",
                          "unselected"}  # fmt: skip
        assert names == shapes | {"log_sum_exp", "low_precision_rule", "timed_shape", "poisoned",
                                  "inputs_unchanged", "repeat"}  # fmt: skip

    @pytest.mark.parametrize(
        ("changes", "caught"),
        [
            ({"window_right": None, "window_left": None}, "window"),
            ({"logit_scale": 1.0, "head_dim": 17}, "large_logits"),
        ],
    )
    def test_one_that_forgets_something_is_caught(self, changes, caught):
        def change(inputs):
            return dataclasses.replace(
                inputs, workload=dataclasses.replace(inputs.workload, **changes)
            )

        _, failed = check(sparse_attention_workload(), self.bound(change), "kernel")
        assert caught in failed

    def test_one_that_reads_what_nobody_selected_is_caught(self):
        def everything(inputs):
            spread = {n: t.clone() for n, t in inputs.tensors.items()}
            spread["v"] = spread["v"] + 0 * spread["v"].sum()
            return dataclasses.replace(inputs, tensors=spread)

        _, failed = check(sparse_attention_workload(), self.bound(everything), "kernel")
        assert "unselected" in failed
        assert "timed_shape" not in failed

    @pytest.mark.parametrize(
        "sums", [lambda value: value / math.log(2), lambda value: value.nan_to_num(neginf=-1e9)]
    )
    def test_wrong_log_sum_exps_are_caught(self, sums):
        _, failed = check(sparse_attention_workload(), self.bound(sums=sums), "kernel")
        assert failed == {"log_sum_exp"}

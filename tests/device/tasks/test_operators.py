"""operators: every check passes on the reference, and catches what it is meant for."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from assay.device.tasks import operator_checks, operators
from assay.device.tasks.operator_checks import CHECKS
from assay.device.tasks.operator_problems import OperatorCase
from assay.device.tasks.operators import run_operators
from assay.shared.job import OperatorsJob
from assay.shared.kernel_choice import Kernel
from tests.device.helpers import SteadyGpu
from tests.jobs import TARGET

ROOT = Path(__file__).resolve().parents[3]


def entry(variant, operation="bsr_gemm", dtype="float16", block=(16, 32), block_b=None, head=None):
    case = (variant, operation, "sm_90a", dtype, block, block_b)
    return Kernel(*case, f"assay_{operation}", "x.so", "0" * 64, head)


ENTRIES = (
    entry("plain"),
    entry("eights", dtype="float8_e4m3", block=(16, 16)),
    entry("sparse", "bsr_bsr_gemm", "bfloat16", block_b=(32, 16)),
    entry("fused", "block_sparse_attention", block=(32, 32), head=16),
)


@pytest.fixture(autouse=True)
def no_inductor(monkeypatch):
    """Its first compilation for a CPU takes a C++ compiler ten seconds."""
    monkeypatch.setattr(operators, "INDUCTOR", "aot_eager")


def run(*entries):
    return run_operators(OperatorsJob(TARGET, entries), SteadyGpu("GPU-0"), "cpu")


PROGRAM = """
import json
from assay.device.tasks import operators
from tests.device.tasks.test_operators import ENTRIES, run
import torch
torch.set_num_threads(1)
operators.INDUCTOR = "aot_eager"
print("RECORD", json.dumps(run(*ENTRIES)))
"""


def run_afresh():
    """In a process of its own, as the device side is: a child of one where autograd's threads have
    run cannot go backward.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("RECORD ")]
    return json.loads(line.removeprefix("RECORD "))


def test_every_operator_passes_and_the_record_is_valid(validated):
    record = run_afresh()
    validated("OperatorsRecord", record)
    checks = [check for each in record["operators"] for check in each["checks"]]
    assert [check for check in checks if not check["passed"]] == []
    assert [(o["variant"], o["status"]) for o in record["operators"]] == [
        ("plain", "passed"),
        ("eights", "passed"),
        ("sparse", "passed"),
        ("fused", "passed"),
    ]
    names = [{check["name"] for check in outcome["checks"]} for outcome in record["operators"]]
    assert names[0] == names[2] == set(CHECKS) - {"cuda_graph"}
    assert names[1] == set(CHECKS) - {"gradient", "cuda_graph"}
    assert names[3] == set(CHECKS)
    assert "test_schema" in record["operators"][0]["checks"][3]["detail"]


def test_a_process_that_dies_takes_no_other_kernel_with_it(monkeypatch, validated):
    def check(case):
        if case.kernel.id == "plain":
            os._exit(3)
        return [{"name": name, "passed": True, "detail": ""} for name in CHECKS]

    monkeypatch.setattr(operators, "try_operator", check)
    record = run(*ENTRIES[:3])
    validated("OperatorsRecord", record)
    assert [outcome["status"] for outcome in record["operators"]] == ["failed", "passed", "passed"]
    assert record["operators"][0]["detail"] == "ended without a result (plain)"


@pytest.fixture
def spoiled(monkeypatch):
    """Make the case of an entry, whose operator is called through ``spoil``."""

    def make(entry, spoil):
        case = OperatorCase(entry, "cpu", "aot_eager")
        right = case.operator
        wrong = property(lambda _: lambda *a, **b: spoil(right, *a, **b))
        monkeypatch.setattr(OperatorCase, "operator", wrong)
        return case

    return make


class Twice(torch.autograd.Function):
    """The identity, with a gradient of twice the size."""

    @staticmethod
    def forward(ctx, output):
        return output.clone()

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def wrong_row(right, *arguments):
    output = right(*arguments)
    output[0] += 1
    return output


def test_what_is_wrong_with_products_is_found(spoiled):
    with pytest.raises(AssertionError, match="regular: "):
        operator_checks.against_oracle(spoiled(ENTRIES[0], wrong_row))


def test_a_wrong_gradient_is_found(spoiled):
    with pytest.raises(AssertionError, match="gradient"):
        operator_checks.gradient(spoiled(ENTRIES[0], lambda right, *a: Twice.apply(right(*a))))


def results(change):
    """A spoiled result of attention."""
    return lambda right, *a, **b: change(*right(*a, **b))


def forgets_windows(right, *values, window_left=-1, window_right=-1, **lists):
    return right(*values, **lists)


def reads_everything(right, q, k, v, **lists):
    o, lse = right(q, k, v, **lists)
    return o + 0 * v.sum(), lse


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (results(lambda o, lse: (o * 1.01, lse)), "random, a pattern a head: "),
        (results(lambda o, lse: (o, lse + 0.01)), "log-sum-exp"),
        (results(lambda o, lse: (o, lse.nan_to_num(neginf=0))), "-infinity"),
        (
            results(lambda o, lse: (o.masked_fill((lse == -math.inf)[..., None], 1e-3), lse)),
            "a query without any key|relative error",
        ),
        (forgets_windows, "causal, ragged: "),
        (reads_everything, "window of whole blocks: "),
    ],
)
def test_what_is_wrong_with_attention_is_found(spoiled, spoil, said):
    with pytest.raises(AssertionError, match=said):
        operator_checks.against_oracle(spoiled(ENTRIES[3], spoil))

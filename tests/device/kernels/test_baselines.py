"""baselines: those that run on a CPU too agree with the oracle."""

import dataclasses
import re
from pathlib import Path

import pytest
import torch

from assay.device.kernels.baselines import PREPARE, prepare_library
from assay.device.kernels.drawn_inputs import fill, make_inputs
from assay.device.kernels.oracles import measure_errors, oracle
from assay.shared.errors import Unsupported
from tests.device.helpers import attention_workload, dense_workload, fp8_dense_workload

GROUPED = dataclasses.replace(dense_workload(), operation="grouped_gemm", groups=3)


@pytest.mark.parametrize(
    ("entry", "workload"),
    [
        ("cublas_dense", dense_workload()),
        ("cublas_dense", dense_workload(dtype="bfloat16", relative_tolerance=5e-3)),
        ("torch_linear", dense_workload(b_layout="nk")),
        ("torch_linear", dense_workload(b_layout="nk", n=1)),
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
    assert not measure_errors(prepared.launch(), oracle(inputs)).beyond(workload)
    fill(inputs, 2)
    prepared.refresh()
    assert not measure_errors(prepared.launch(), oracle(inputs)).beyond(workload)


class TestScaledMm:
    """FP8 where the library takes it, one sentence where it does not."""

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


def test_every_entry_of_the_kernel_manifests_is_here():
    manifests = sorted(Path(__file__).parents[3].glob("kernels/*/kernel.yaml"))
    entries = {
        name
        for path in manifests
        for name in re.findall(r"^\s*entry:\s*(\S+)", path.read_text(), re.MULTILINE)
    }
    assert entries
    assert entries <= set(PREPARE)

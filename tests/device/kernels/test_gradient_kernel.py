"""Our kernel for attention's gradients as the device calls it: bound to inputs, through the gate,
and by what compute-sanitizer watches. An emulation stands in for the GPU.
"""

import ctypes
import json
from dataclasses import replace

import pytest
import torch

from assay.device.kernels.attention import bind_gradients
from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.oracles import errors_by_gradient, oracle
from assay.device.tasks import correctness, sanitized, sanitizer
from assay.shared.attention_call import BACKWARD_ABI, AttentionBackwardCall, open_attention
from assay.shared.files import sha256_file
from assay.shared.specs import ArtifactSpec, PatternSpec
from tests.device.helpers import HostMemory, gate, gradient_workload, make_arm
from tests.ops.test_attention_backward import LANDS_EARLY, compiled

WORKLOAD = gradient_workload(
    batch=1, heads=2, seq_q=256, seq_kv=256, head_dim=64, pattern=PatternSpec("random", 128, 128, 1)
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel") / "back"
    name = "attention_backward_d64_bf16"
    return compiled(folder, name, "sm90_attention_backward.cu", LANDS_EARLY)


@pytest.fixture(autouse=True)
def shapes(monkeypatch):
    """Two of the gate's small shapes, with fewer blocks."""
    cut = replace(WORKLOAD, seq_q=232, seq_kv=216)
    shared = replace(WORKLOAD, kv_heads=1, layout="bshd", window_left=100, window_right=0)
    chosen = [("unaligned", cut, True), ("shared_heads", shared, False)]
    monkeypatch.setattr(correctness, "small_shapes", lambda _: chosen)
    monkeypatch.setattr(sanitizer, "sanitized_shapes", lambda _: chosen)


def bound(library):
    launcher = open_attention(library, f"assay_{BACKWARD_ABI}", AttentionBackwardCall)
    return lambda arm, inputs: bind_gradients(launcher, arm.variant, inputs, lambda: 0)


def of_kernel(library):
    arm = make_arm("ours", WORKLOAD, "kernel")
    variant = replace(arm.variant, symbol=f"assay_{BACKWARD_ABI}")
    return replace(arm, variant=variant, artifact=ArtifactSpec(str(library), sha256_file(library)))


def test_passes_the_gate_which_tells_the_error_of_each_gradient(library):
    found = gate(of_kernel(library), (1,), bound(library))
    assert found["status"] == "correct", found
    names = [check["name"] for check in found["checks"]]
    each = ["poisoned", "inputs_unchanged"]
    assert names == ["timed_shape", *each, "repeat", "unaligned", *each, "shared_heads", *each]
    assert all(f"d{of} " in found["checks"][0]["detail"] for of in "QKV")


def test_a_gradient_that_is_not_written_is_caught(library):
    def prepare(arm, inputs):
        prepared = bound(library)(arm, inputs)
        kept = torch.full_like(prepared.buffer[2], float("nan"))
        return replace(prepared, launch=lambda: (*prepared.launch()[:2], kept))

    found = gate(of_kernel(library), (1,), prepare)
    assert found["status"] == "incorrect"
    assert "dV no number" in found["checks"][0]["detail"]


def test_what_the_sanitizer_launches_is_the_same_call(library, tmp_path, monkeypatch):
    spec = json.loads(json.dumps(sanitizer.write_spec(of_kernel(library), tmp_path)))
    (cut, shared), addresses = spec["shapes"], []
    made = sanitized.attention_backward_call

    def call(forward, strides, given):
        addresses.append(given)
        return made(forward, strides, given)

    monkeypatch.setattr(sanitized, "attention_backward_call", call)
    assert sanitized.launch(HostMemory(), spec, cut)["code"] == 0
    driver = HostMemory()
    assert sanitized.launch(driver, spec, shared) == {
        "name": "shared_heads",
        "code": 0,
        "error": "",
    }
    workload = sanitizer.sanitized_shapes(WORKLOAD)[1][1]
    inputs = make_inputs(workload, "cpu", sanitizer.SEED)
    outputs = inputs.new_gradients()
    for name, output in zip(("by_q", "by_k", "by_v"), outputs, strict=True):
        ctypes.memmove(output.data_ptr(), addresses[-1][name], output.numel() * 2)
    errors = errors_by_gradient(inputs, inputs.joined(outputs), oracle(inputs))
    assert all(each.relative < workload.relative_tolerance for each in errors.values())

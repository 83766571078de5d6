"""Our FP8 kernel for attention as the device calls it: through the gate, and by what
compute-sanitizer watches. An emulation stands in for the GPU.
"""

import json
from dataclasses import replace

import pytest

from assay.device.kernels.attention import bind_attention
from assay.device.tasks import correctness, sanitized, sanitizer
from assay.shared.attention_call import ABI, FP8_ABI, AttentionFp8Call, open_attention
from assay.shared.files import sha256_file
from assay.shared.specs import ArtifactSpec, PatternSpec
from tests.device.helpers import HostMemory, gate, make_arm, sparse_attention_workload
from tests.ops.emulation import compile_fp8

WORKLOAD = sparse_attention_workload(
    batch=1, heads=2, seq_q=256, seq_kv=256, head_dim=128, dtype="float8_e4m3",
    relative_tolerance=4.5e-2, pattern=PatternSpec("random", 128, 128, 1),
)  # fmt: skip
CUT = replace(WORKLOAD, seq_q=232, seq_kv=216, scaled_blocks=True)
SHARED = replace(CUT, kv_heads=1, layout="bshd", window_left=100, window_right=0)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_fp8(tmp_path_factory.mktemp("kernel"))


@pytest.fixture(autouse=True)
def shapes(monkeypatch):
    """Two of the gate's small shapes, with fewer blocks."""
    chosen = [("unaligned", CUT, True), ("shared_heads", SHARED, False)]
    monkeypatch.setattr(correctness, "small_shapes", lambda _: chosen)
    monkeypatch.setattr(sanitizer, "sanitized_shapes", lambda _: chosen)


def of_kernel(library):
    arm = make_arm("ours", WORKLOAD, "kernel")
    variant = replace(arm.variant, symbol=f"assay_{ABI}", abi=FP8_ABI)
    return replace(arm, variant=variant, artifact=ArtifactSpec(str(library), sha256_file(library)))


def bound(library):
    launcher = open_attention(library, structure=AttentionFp8Call)
    return lambda arm, inputs: bind_attention(launcher, arm.variant, inputs, lambda: 0)


def test_passes_the_gate(library):
    found = gate(of_kernel(library), (1,), bound(library))
    assert found["status"] == "correct", found
    names = {check["name"] for check in found["checks"]}
    assert {"timed_shape", "repeat", "unaligned", "shared_heads", "log_sum_exp"} <= names


def test_scales_of_other_blocks_are_caught(library):
    def prepare(arm, inputs):
        scale = inputs.tensors["v_scale"]
        scale.copy_(scale.flip(2))
        prepared = bound(library)(arm, inputs)
        prepared.launch()
        kept = prepared.buffer.clone()
        scale.copy_(scale.flip(2))
        return replace(prepared, launch=lambda: prepared.buffer.copy_(kept))

    found = gate(of_kernel(library), (1,), prepare)
    failed = {each["name"] for each in found["checks"] if not each["passed"]}
    assert "unaligned" in failed


def test_what_the_sanitizer_launches_is_the_same_call(library, tmp_path):
    spec = json.loads(json.dumps(sanitizer.write_spec(of_kernel(library), tmp_path)))
    for shape in spec["shapes"]:
        assert sanitized.launch(HostMemory(), spec, shape)["code"] == 0

"""launch_attention: what a kernel is handed, and what its answer becomes. CUDA is faked."""

import ctypes

import pytest
import torch

from assay.ops import AttentionMask, attention_launch, attention_operator
from assay.ops.attention_arguments import check_attention
from assay.ops.kernel_set import KernelSet, only
from assay.shared.attention_call import AttentionLauncher
from tests.ops.attention_helpers import values
from tests.ops.helpers import kernel, pretend_hopper

BLOCK, HEAD_DIM, WORKSPACE = 64, 32, 640


def fused(**changes):
    given = {"operation": "block_sparse_attention", "block": (BLOCK, BLOCK), "head_dim": HEAD_DIM}
    return kernel(**{**given, **changes})


class Launcher:
    """Answers with a code, and keeps what it was handed."""

    def __init__(self):
        self.code, self.calls = 0, []

    def launch(self, call, workspace, size, stream):
        handed = ctypes.cast(call, ctypes.POINTER(type(call._obj))).contents
        self.calls.append(
            ({name: getattr(handed, name) for name, _ in handed._fields_}, size, stream)
        )
        return self.code


@pytest.fixture
def launcher(monkeypatch):
    found = Launcher()
    made = AttentionLauncher(found.launch, lambda call: WORKSPACE)
    monkeypatch.setattr(attention_launch, "_launcher", lambda kernel: made)
    pretend_hopper(monkeypatch)
    with only(KernelSet("h100", (fused(),))):
        yield found


def call(mask, q, k, v, **more):
    return attention_operator._forward_cuda(*in_order(mask, q, k, v), **more)


def in_order(mask, q, k, v):
    a = mask.arguments
    return (
        q, k, v, a["full_counts"], a["full_columns"], a["partial_counts"], a["partial_columns"],
        a["partial_bits"], a["order"], a["block"], 0.25, a["window_left"], a["window_right"],
    )  # fmt: skip


def operands(mask, dtype=torch.float16):
    found = values(mask, dtype=dtype, head_dim=HEAD_DIM)
    return [tensor.detach() for tensor in found]


def test_a_kernel_is_handed_its_workspace_the_stream_and_sizes(launcher):
    """Addresses and strides are shown by emulated kernels, which read what is handed."""
    mask = AttentionMask.window(192, 256, left=150, block=BLOCK)
    q, k, v = operands(mask)
    o, lse = call(mask, q, k, v)
    ((handed, size, stream),) = launcher.calls
    assert (size, stream, handed["partial_bits"]) == (WORKSPACE, 77, None)
    assert o.stride() == q.stride()
    sizes = "batches", "heads", "kv_heads", "queries", "keys", "mask_batches", "mask_heads"
    assert [handed[name] for name in sizes] == [2, 4, 2, 192, 256, 1, 1]
    assert (handed["window_left"], handed["window_right"], handed["scale"]) == (150, 0, 0.25)
    assert (lse.shape, lse.dtype) == ((2, 4, 192), torch.float32)


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (1, ValueError, r"mine with q \[2, 4, 64, 32\], k \[2, 2, 64, 32\] refused"),
        (700, RuntimeError, "failed with cudaError_t 700"),
    ],
)
def test_a_refusal_and_a_failure(launcher, code, kind, said):
    launcher.code = code
    mask = AttentionMask.window(64, 64, block=BLOCK)
    with pytest.raises(kind, match=said):
        call(mask, *operands(mask))


@pytest.mark.parametrize(
    "changes", [{"dtype": "bfloat16"}, {"head_dim": 64}, {"block": (128, 128)}, {"arch": "sm_89"}]
)
def test_no_kernel_for_the_case(launcher, changes):
    mask = AttentionMask.window(64, 64, block=BLOCK)
    with only(KernelSet("h100", (fused(**changes),))), pytest.raises(RuntimeError):
        call(mask, *operands(mask))
    assert not launcher.calls


def gradients(mask, grad):
    q, k, v = operands(mask)
    o, lse = torch.empty_like(q), torch.zeros(q.shape[:3])
    grad = torch.empty_like(q) if grad is None else grad.to(q.dtype).expand(q.shape)
    given = grad, torch.zeros_like(lse), o, lse
    call = check_attention(*in_order(mask, q, k, v))
    made = fused(operation="block_sparse_attention_backward")
    return given, attention_launch.launch_backward(made, call, *given)


def test_an_expanded_gradient_is_copied(launcher):
    mask = AttentionMask.window(64, 64, block=BLOCK)
    (grad, *_), _ = gradients(mask, torch.ones(()))
    ((handed, *_),) = launcher.calls
    assert grad.stride() == (0, 0, 0, 0)
    assert handed["grad"] != grad.data_ptr()
    assert (handed["grad_row"], handed["grad_head"]) == (4 * HEAD_DIM, HEAD_DIM)


def test_rows_at_odd_addresses_are_refused(launcher):
    mask = AttentionMask.window(64, 64, block=BLOCK)
    q, k, v = operands(mask)
    wide = torch.zeros(2, 2, 64, HEAD_DIM + 4, dtype=torch.float16)
    with pytest.raises(ValueError, match="v has rows that begin at addresses that are no multiple"):
        call(mask, q, k, wide[..., :HEAD_DIM])
    with pytest.raises(ValueError, match="k has rows that begin"):
        call(mask, q, wide[..., 2 : HEAD_DIM + 2], v)
    assert not launcher.calls

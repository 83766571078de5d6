"""sm90_attention_backward.cu on a CPU: its variants against float64, for every kind of mask.

emulated_hopper.hpp stands in for the GPU; that it is a fair one, the fused forward kernel shows,
which ran on GPUs and is right in it, too.
"""

import pytest
import torch

from assay.ops import attention_launch
from assay.ops.attention_arguments import check_attention, empty_like
from assay.ops.attention_launch import launch_backward
from assay.shared.attention_call import BACKWARD_ABI, AttentionBackwardCall, open_attention
from tests.ops.attention_helpers import dense, finite
from tests.ops.emulation import assert_right, compile_emulated, defines_of, kernel_of, problems
from tests.ops.helpers import pretend_hopper

BLOCK = 128
REPLACED = ("sm90_attention_mma.cuh", "sm90_attention_fp8.cuh", "sm90_attention_backward_mma.cuh")
LANDS_LATE = {"EMULATED_COPIES": 1, "EMULATED_SMS": 3, "EMULATED_LAGS": 1}
LANDS_EARLY = {"EMULATED_COPIES": 0, "EMULATED_SMS": 3, "EMULATED_LAGS": 2}
LIMIT = {"float16": 1e-3, "bfloat16": 5e-3}


def compiled(folder, name, source, order):
    folder.mkdir()
    defines = {**defines_of(name), **order}
    return compile_emulated(folder, source, defines, "emulated_hopper.hpp", REPLACED)


def far_below_zero(made):
    """Scores whose exponentials, of a key past the end, are infinite: such keys add nothing."""
    _, mask, (q, k, v) = next(problems(made))
    q[..., 0], k[..., 0] = 1000, -2
    return "far below zero", mask, [q, k, v]


def off(found, right):
    return float((found.double() - right).norm() / right.norm().clamp(min=1e-30))


def test_the_forward_pass_is_right_in_the_same_emulation(tmp_path):
    name = "attention_fused_d64"
    source = "sm90_block_sparse_attention.cu"
    library = compiled(tmp_path / "forward", name, source, LANDS_EARLY)
    assert_right(open_attention(library), kernel_of(name, "block_sparse_attention", BLOCK))


@pytest.mark.parametrize(
    ("name", "order"),
    [("attention_backward_d128", LANDS_EARLY), ("attention_backward_d64_bf16", LANDS_LATE)],
)
def test_is_right_for_every_kind_of_mask(tmp_path, monkeypatch, name, order):
    library = compiled(tmp_path / "back", name, "sm90_attention_backward.cu", order)
    launcher = open_attention(library, f"assay_{BACKWARD_ABI}", AttentionBackwardCall)
    monkeypatch.setattr(attention_launch, "_launcher", lambda kernel: launcher)
    pretend_hopper(monkeypatch)
    made = kernel_of(name, BACKWARD_ABI, BLOCK)
    for kind, mask, given in (*problems(made), far_below_zero(made)):
        leaves = [each.double().requires_grad_() for each in given]
        o, lse = dense(*leaves, mask.dense())
        generator = torch.Generator().manual_seed(1)
        grad = torch.randn(o.shape, generator=generator).to(given[0].dtype)
        grad_lse = torch.randn(lse.shape, generator=generator)
        total = (o * grad).sum() + (finite(lse) * grad_lse).sum()
        right = torch.autograd.grad(total, leaves)
        call = check_attention(*given, **mask.arguments)
        handed = empty_like(call.q).copy_(o.detach()), lse.detach().float()
        found = launch_backward(made, call, grad, grad_lse, *handed)
        for mine, theirs in zip(found, right, strict=True):
            assert off(mine, theirs) < LIMIT[made.dtype], kind

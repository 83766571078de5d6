"""Attention in FP8: its operator, and its kernel on a CPU, against float64 of what was rounded."""

import pytest
import torch

from assay.ops.attention_arguments import check_attention, empty_like, empty_lse
from assay.ops.attention_launch import fp8_call
from assay.ops.fp8_blocks import BLOCK, operands, quantise, restored
from assay.shared.attention_call import AttentionFp8Call, open_attention
from tests.ops.attention_helpers import assert_near, dense, finite, masks, values
from tests.ops.emulation import assert_nan_stays_in_its_row, compile_fp8

LIMIT = 4e-2
MASKS = masks(BLOCK, 2 * BLOCK - 24, 3 * BLOCK - 8)


def rounded(tensors):
    return [restored(*quantise(each.detach())).double() for each in tensors]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A launcher of the kernel for a CPU, by what comes first."""
    made = {}

    def launcher(**order):
        key = tuple(order.items())
        if key not in made:
            library = compile_fp8(tmp_path_factory.mktemp("kernel"), **order)
            made[key] = open_attention(library, structure=AttentionFp8Call)
        return made[key]

    return launcher


LANDS_LATE = {"EMULATED_COPIES": 0, "EMULATED_PRODUCTS": 1, "EMULATED_LAGS": 2}


@pytest.mark.parametrize("far", [1e-30, 1e-3, 1e3, 1e30, 0.0])
def test_rows_are_right_whatever_the_size_of_values_that_others_select(compiled, far):
    mask = MASKS["random, a pattern a head"]
    tensors = [each.detach() for each in values(mask, head_dim=128, dtype=torch.bfloat16)]
    tensors[2][:, :, :BLOCK] *= far
    o, _ = launched(compiled(**LANDS_LATE), mask, tensors)
    right, _ = dense(*rounded(tensors), mask.dense())
    assert ((o.double() - right).norm(dim=3) <= 0.08 * right.norm(dim=3)).all()


@pytest.mark.parametrize(
    ("copies", "products", "lags", "grown"), [(0, 1, 2, 1), (1, 1, 1, 6), (1, 0, -1, 60)]
)
def test_the_kernel_is_right_for_every_kind_of_mask(compiled, copies, products, lags, grown):
    """Whatever comes first; where sums leave the type's range, and float32's."""
    order = {"EMULATED_COPIES": copies, "EMULATED_PRODUCTS": products, "EMULATED_LAGS": lags}
    launcher = compiled(**order)
    for mask in MASKS.values():
        tensors = [each.detach() for each in values(mask, head_dim=128, dtype=torch.bfloat16)]
        tensors[1][:, :, BLOCK + 3 : BLOCK + 40] *= grown
        tensors[2][:, :, :BLOCK] *= 8  # values of other sizes
        found = launched(launcher, mask, tensors)
        assert_near(found, dense(*rounded(tensors), mask.dense()), torch.bfloat16, LIMIT)
    mask = MASKS["random, a pattern a head"]
    tensors = [each.detach() for each in values(mask, head_dim=128, dtype=torch.bfloat16)]
    assert_nan_stays_in_its_row(lambda given: launched(launcher, mask, given), tensors)


def launched(launcher, mask, tensors):
    call, given = check_attention(*tensors, **mask.arguments), operands(*tensors)
    o, lse = empty_like(call.q), empty_lse(call.q)
    handed = fp8_call(call, given, o, lse)
    counter = torch.zeros(1, dtype=torch.int32)
    assert launcher.launch(handed, counter.data_ptr(), 4, 0) == 0
    return o, lse


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_the_operator_rounds_and_differentiates(mask):
    """Gradients are those of attention at the values that were rounded."""
    q, k, v = values(mask, head_dim=32, dtype=torch.bfloat16)
    found = torch.ops.assay.block_sparse_attention_fp8(q, k, v, **mask.arguments)
    wide = [each.requires_grad_() for each in rounded((q, k, v))]
    right = dense(*wide, mask.dense())
    assert_near(found, [each.detach() for each in right], torch.bfloat16)
    grads = [
        torch.autograd.grad(o.double().sum() + finite(lse).double().sum(), leaves)
        for (o, lse), leaves in ((found, (q, k, v)), (right, wide))
    ]
    for mine, theirs in zip(*grads, strict=True):
        assert (mine.double() - theirs).norm() <= 1e-2 * theirs.norm()


def test_what_is_no_bfloat16_is_refused():
    mask = MASKS["window"]
    with pytest.raises(TypeError, match="what becomes FP8"):
        torch.ops.assay.block_sparse_attention_fp8(
            *values(mask, dtype=torch.float16), **mask.arguments
        )

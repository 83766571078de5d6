"""sm90_block_sparse_attention.cu in FP8 on a CPU, against float64 of what it is given."""

from dataclasses import replace

import pytest
import torch

from assay.ops.attention_arguments import check_attention, empty_like, empty_lse
from assay.ops.attention_launch import _addresses, _sizes
from assay.shared.attention_call import (
    AttentionFp8Call,
    attention_call,
    open_attention,
)
from tests.ops.attention_helpers import dense, finite, masks, values
from tests.ops.emulation import compile_emulated, defines_of

BLOCK, HEAD_DIM = 128, 128
MOST = 448.0
ORDER = (0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)
"""Of 16 keys in V, by attention_fp8_call.cuh."""


def quantised(tensor):
    """E4M3 of blocks of 128 tokens, and the factor of each, [batches, heads, blocks]."""
    tokens = tensor.shape[2]
    blocks = -(-tokens // BLOCK)
    padded = torch.nn.functional.pad(tensor, (0, 0, 0, blocks * BLOCK - tokens))
    split = padded.unflatten(2, (blocks, BLOCK))
    scale = split.abs().amax((3, 4)) / MOST
    stored = (split / scale[..., None, None]).flatten(2, 3)[:, :, :tokens]
    return stored.to(torch.float8_e4m3fn), scale.float()


def restored(stored, scale):
    tokens = stored.shape[2]
    return stored.double() * scale.double().repeat_interleave(BLOCK, 2)[:, :, :tokens, None]


def by_columns(stored):
    """V as the kernel reads it."""
    tokens = stored.shape[2]
    padding = (0, 0, 0, -tokens % BLOCK)
    rows = torch.nn.functional.pad(stored.view(torch.uint8), padding)
    ordered = rows.unflatten(2, (-1, 16))[:, :, :, list(ORDER)].flatten(2, 3)
    return ordered.transpose(2, 3).contiguous().view(torch.float8_e4m3fn)


@pytest.mark.parametrize(
    ("copies", "products", "lags", "grown"), [(0, 1, 2, 1), (1, 1, 1, 6), (1, 0, -1, 60)]
)
def test_is_right_for_every_kind_of_mask(tmp_path, copies, products, lags, grown):
    defines = defines_of("attention_fused_d128") | {"DTYPE": 2, "SLOTS": 12, "Q_REGISTERS": 0}
    order = {"EMULATED_COPIES": copies, "EMULATED_PRODUCTS": products, "EMULATED_LAGS": lags}
    library = compile_emulated(
        tmp_path, "sm90_block_sparse_attention.cu", {**defines, **order, "EMULATED_SMS": 3},
        "emulated_hopper.hpp", ("sm90_attention_mma.cuh", "sm90_attention_fp8.cuh"),
    )  # fmt: skip
    launcher = open_attention(library, structure=AttentionFp8Call)
    for kind, mask in masks(BLOCK, 2 * BLOCK - 24, 3 * BLOCK - 8).items():
        given = values(mask, head_dim=HEAD_DIM, dtype=torch.bfloat16)
        tensors = [each.detach().float() for each in given]
        tensors[2][:, :, :BLOCK] *= 8  # values of other sizes
        tensors[1][:, :, BLOCK + 3 : BLOCK + 40] *= grown  # sums leave the type's range, or fp32's
        (q, q_scale), (k, k_scale), (v, v_scale) = map(quantised, tensors)
        right = dense(
            restored(q, q_scale), restored(k, k_scale), restored(v, v_scale), mask.dense()
        )
        packed, v_top = by_columns(v), v_scale.amax(2)
        call = check_attention(*(each.detach() for each in given), **mask.arguments)
        o, lse = empty_like(call.q), empty_lse(call.q)
        sizes, addresses = _sizes(call, o), _addresses(call, o, lse)
        strides = {"q": q.stride()[:3], "k": k.stride()[:3], "v": packed.stride()[:3]}
        sizes = replace(sizes, strides={**sizes.strides, **strides})
        addresses |= {"q": q.data_ptr(), "k": k.data_ptr(), "v": packed.data_ptr()}
        scales = (each.contiguous().data_ptr() for each in (q_scale, k_scale, v_scale, v_top))
        handed = AttentionFp8Call(attention_call(sizes, addresses), *scales)
        assert launcher.launch(handed, torch.zeros(1, dtype=torch.int32).data_ptr(), 4, 0) == 0
        empty = right[1] == -torch.inf
        assert torch.equal(lse == -torch.inf, empty), kind
        assert not o[empty].any()
        assert (o.double() - right[0]).norm() <= 0.04 * right[0].norm(), kind
        assert torch.allclose(finite(lse).double(), finite(right[1]).double(), atol=1e-3), kind

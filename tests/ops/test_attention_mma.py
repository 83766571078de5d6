"""attention_mma.cu on a CPU: its variants against float64, for every kind of mask.

emulated_gpu.hpp stands in for the GPU. It shows that indices, masks, waits and products are right;
that the instructions do what the emulation says, and how fast, only a GPU shows.
"""

from pathlib import Path

import pytest
import torch
import yaml

from assay.ops.attention_arguments import check_attention, empty_like, empty_lse
from assay.ops.attention_launch import _addresses, _sizes
from assay.shared.attention_call import attention_call, open_attention
from tests.ops.attention_helpers import assert_near, dense, masks, values
from tests.ops.emulation import compile_emulated
from tests.ops.helpers import kernel

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "kernels/block_sparse_attention"
CATALOG = yaml.safe_load((FOLDER / "kernel.yaml").read_text())
DEFINES = CATALOG["families"]["mma"]["defines"]
VARIANTS = [each for each in CATALOG["variants"] if each.get("family") == "mma"]
SHORT = ("d128", "d64_bf16", "d128_b64_bf16", "d64_b64")
"""Each shape, in one of the two types: no index depends on the type."""


@pytest.fixture(params=SHORT)
def variant(request, tmp_path):
    (found,) = (each for each in VARIANTS if each["id"] == f"attention_mma_{request.param}")
    defines = {**DEFINES, **found.get("defines", {})}
    library = compile_emulated(tmp_path, "attention_mma.cu", defines, "emulated_gpu.hpp")
    side = defines["BLOCK"]
    made = kernel(
        operation="block_sparse_attention", block=(side, side), head_dim=defines["HEAD_DIM"],
        dtype=("float16", "bfloat16")[defines["DTYPE"]], id=found["id"],
    )  # fmt: skip
    return made, open_attention(library)


def test_is_right_for_every_kind_of_mask(variant):
    made, launcher = variant
    block, dtype = made.block[0], getattr(torch, made.dtype)
    for mask in masks(block, 2 * block - 24, 3 * block - 8).values():
        q, k, v = (each.detach() for each in values(mask, head_dim=made.head_dim, dtype=dtype))
        right = dense(q.double(), k.double(), v.double(), mask.dense())
        if mask.partial is None:  # whole blocks: keys that no query selects are not read
            unread = ~mask.dense().any(dim=2).any(dim=1).any(dim=0)
            k[:, :, unread] = v[:, :, unread] = float("nan")
        given = check_attention(q, k, v, **mask.arguments)
        o, lse = empty_like(given.q), empty_lse(given.q)
        handed = attention_call(_sizes(given, o), _addresses(given, o, lse))
        assert launcher.launch(handed, 0, 0, 0) == 0
        assert_near((o, lse), right, dtype)

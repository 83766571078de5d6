"""attention_mma.cu on a CPU: its variants against float64, for every kind of mask.

emulated_gpu.hpp stands in for the GPU. It shows that indices, masks, waits and products are right;
that the instructions do what the emulation says, and how fast, only a GPU shows.
"""

import pytest

from assay.shared.attention_call import open_attention
from tests.ops.emulation import assert_right, compile_emulated, defines_of, kernel_of

SHORT = ("d128", "d64_bf16", "d128_b64_bf16", "d64_b64")
"""Each shape, in one of the two types: no index depends on the type."""


@pytest.mark.parametrize("short", SHORT)
def test_is_right_for_every_kind_of_mask(short, tmp_path):
    name = f"attention_mma_{short}"
    defines = defines_of(name)
    library = compile_emulated(tmp_path, "attention_mma.cu", defines, "emulated_gpu.hpp")
    made = kernel_of(name, "block_sparse_attention", defines["BLOCK"])
    assert_right(open_attention(library), made)

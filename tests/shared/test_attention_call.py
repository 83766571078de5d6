"""The structure that attention kernels read has one layout, in C and here."""

import re
from pathlib import Path

import pytest

from assay.shared.attention_call import (
    AttentionCall,
    AttentionSizes,
    attention_call,
)

KERNELS = Path(__file__).parents[2] / "kernels" / "block_sparse_attention"


def sizes() -> AttentionSizes:
    strides = {
        name: (number + 1000, number + 100, number + 10) for number, name in enumerate("qkvo")
    }
    return AttentionSizes(
        2, 8, 4, 300, 400, 0.125, strides, full_pitch=5, partial_pitch=7, window_right=0
    )


def test_fields_are_those_of_the_header():
    text = (KERNELS / "attention_call.cuh").read_text()
    body = text.partition("struct AssayAttention {")[2].partition("};")[0]
    lines = (line.partition("//")[0].strip().rstrip(";") for line in body.splitlines())
    names = [
        re.sub(r"^.*[ *]", "", part.strip()) for line in lines if line for part in line.split(",")
    ]
    assert names == [name for name, _ in AttentionCall._fields_]


def test_a_tensor_without_an_address_is_refused():
    with pytest.raises(KeyError, match="v"):
        attention_call(sizes(), {"q": 1, "k": 1, "o": 1})

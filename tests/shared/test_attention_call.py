"""The structure that attention kernels read has one layout, in C and here."""

import re
from pathlib import Path

from assay.shared.attention_call import AttentionCall

KERNELS = Path(__file__).parents[2] / "kernels" / "block_sparse_attention"


def test_fields_are_those_of_the_header():
    text = (KERNELS / "attention_call.cuh").read_text()
    body = text.partition("struct AssayAttention {")[2].partition("};")[0]
    lines = (line.partition("//")[0].strip().rstrip(";") for line in body.splitlines())
    names = [
        re.sub(r"^.*[ *]", "", part.strip()) for line in lines if line for part in line.split(",")
    ]
    assert names == [name for name, _ in AttentionCall._fields_]

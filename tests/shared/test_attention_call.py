"""The structure that attention kernels read has one layout, in C and here."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from assay.shared.attention_call import (
    AttentionCall,
    AttentionSizes,
    attention_call,
    open_attention,
)

KERNELS = Path(__file__).parents[2] / "kernels" / "block_sparse_attention"

ECHO = """
#include <cstddef>
#include "attention_call.cuh"
extern "C" size_t assay_block_sparse_attention_workspace(const AssayAttention* c) {
  return c->keys;
}
extern "C" int assay_block_sparse_attention(const AssayAttention* c, void* w, size_t bytes,
                                            void*) {
  auto* out = static_cast<double*>(w);
  if (bytes < 8 * sizeof(double)) return 1;
  out[0] = (double)(size_t)c->q; out[1] = (double)(size_t)c->order; out[2] = (double)c->o_row;
  out[3] = c->scale; out[4] = c->window_right; out[5] = (double)sizeof(AssayAttention);
  out[6] = c->partial_pitch; out[7] = (double)(size_t)c->lse;
  return 0;
}
"""


def sizes() -> AttentionSizes:
    strides = {
        name: (number + 1000, number + 100, number + 10) for number, name in enumerate("qkvo")
    }
    return AttentionSizes(
        2, 8, 4, 300, 400, 0.125, strides, full_pitch=5, partial_pitch=7, window_right=0
    )


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    source, library = tmp_path / "echo.cc", tmp_path / "echo.so"
    source.write_text(ECHO)
    command = ["g++", "-shared", "-fPIC", f"-I{KERNELS}", "-o", str(library), str(source)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("needs g++")
    return library


def test_c_reads_what_was_filled_in(echo: Path):
    launcher = open_attention(echo)
    addresses = {"q": 16, "k": 32, "v": 48, "o": 64, "order": 80}
    call = attention_call(sizes(), addresses)
    assert launcher.workspace_bytes(call) == 400
    out = (ctypes.c_double * 8)()
    assert launcher.launch(call, ctypes.addressof(out), ctypes.sizeof(out), 0) == 0
    assert list(out) == [16, 80, 13, 0.125, 0, ctypes.sizeof(AttentionCall), 7, 0]
    assert launcher.launch(call, ctypes.addressof(out), 8, 0) == 1


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

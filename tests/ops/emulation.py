"""Attention kernels compiled for a CPU, with a header of this folder in place of the GPU."""

import re
import subprocess
from pathlib import Path

import pytest
import torch
import yaml

from assay.ops.attention_arguments import check_attention, empty_like, empty_lse
from assay.ops.attention_launch import _addresses, _sizes
from assay.shared.attention_call import attention_call
from tests.ops.attention_helpers import assert_near, dense, masks, values
from tests.ops.helpers import kernel

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "kernels/block_sparse_attention"
CATALOG = yaml.safe_load((FOLDER / "kernel.yaml").read_text())
SHARED = r"extern __shared__ .* memory\[\];", "unsigned char* memory = emulated::cta->shared;"
LAUNCH = r"(?s)(\w+)<<<(.*?),\s*([\w:]+),.*?>>>\(\s*(.*?)\);", r"emulated::run(\1, \2, \3, \4);"
ERROR = r"cudaGetLastError\(\)", "cudaSuccess"
REPLACED = ("cuda.h", "cuda_runtime.h", "common/launch.cuh", "common/mma.cuh", "common/ptx.cuh")


def compile_emulated(folder, source, defines, header, replaced=()):
    """The library of ``source``, made in ``folder``. ``replaced``: headers of the kernels' own
    folder that ``header`` stands in for as well.
    """
    for name in (*REPLACED, *replaced):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f'#include "{header}"\n')
    for path in (*FOLDER.glob("*.cuh"), FOLDER / source):
        if path.name not in replaced:
            (folder / path.name).write_text(_for_cpu(path.read_text()))
    library = folder / "kernel.so"
    command = ["g++", "-O2", "-std=c++17", "-fPIC", "-shared", "-o", library, "-x", "c++"]
    command += [folder / source, f"-I{folder}", f"-I{ROOT / 'tests/ops'}"]
    command += [f"-D{name}={value}" for name, value in defines.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "_Float16" in done.stderr:
        pytest.skip("this g++ has no fp16")
    assert done.returncode == 0, done.stderr
    return library


def compile_fp8(folder, **order):
    """The library of the fused kernel in FP8; ``order``: what comes first."""
    return compile_emulated(
        folder, "sm90_block_sparse_attention.cu",
        {**defines_of("attention_fused_d128_fp8"), **order, "EMULATED_SMS": 3},
        "emulated_hopper.hpp", ("sm90_attention_mma.cuh", "sm90_attention_fp8.cuh"),
    )  # fmt: skip


def defines_of(name):
    (found,) = (each for each in CATALOG["variants"] if each["id"] == name)
    return {**CATALOG["families"][found["family"]]["defines"], **found.get("defines", {})}


def kernel_of(name, operation, side):
    defines = defines_of(name)
    return kernel(
        operation=operation, block=(side, side), head_dim=defines["HEAD_DIM"],
        dtype=("float16", "bfloat16")[defines["DTYPE"]], id=name,
    )  # fmt: skip


def problems(made):
    side, more = made.block[0], {"head_dim": made.head_dim, "dtype": getattr(torch, made.dtype)}
    for name, mask in masks(side, 2 * side - 24, 3 * side - 8).items():
        yield name, mask, [each.detach() for each in values(mask, **more)]


def assert_right(launcher, made):
    for _, mask, (q, k, v) in problems(made):
        right = dense(q.double(), k.double(), v.double(), mask.dense())
        if mask.partial is None:  # whole blocks: keys that no query selects are not read
            unread = ~mask.dense().any(dim=2).any(dim=1).any(dim=0)
            k[:, :, unread] = v[:, :, unread] = float("nan")
        assert_near(_forward(launcher, mask, (q, k, v)), right, q.dtype)
    _, mask, tensors = next(problems(made))
    assert_nan_stays_in_its_row(lambda given: _forward(launcher, mask, given), tensors)


def assert_nan_stays_in_its_row(forward, tensors):
    """Whether the one query that holds NaN, and no other, has NaN as its output."""
    tensors[0][0, 1, 5, 3] = float("nan")
    for found in forward(tensors):
        alone = torch.zeros_like(found, dtype=torch.bool)
        alone[0, 1, 5] = True
        assert torch.equal(found.isnan(), alone)


def _forward(launcher, mask, tensors):
    given = check_attention(*tensors, **mask.arguments)
    o, lse = empty_like(given.q), empty_lse(given.q)
    handed = attention_call(_sizes(given, o), _addresses(given, o, lse))
    workspace = torch.zeros(4, dtype=torch.uint8)
    assert launcher.launch(handed, workspace.data_ptr(), 4, 0) == 0
    return o, lse


def _for_cpu(text):
    """What C++ alone does not know is left to the emulation."""
    for pattern, instead in (SHARED, LAUNCH, ERROR):
        text = re.sub(pattern, instead, text)
    return text

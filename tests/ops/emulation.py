"""Attention kernels compiled for a CPU, with a header of this folder in place of the GPU."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "kernels/block_sparse_attention"
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


def _for_cpu(text):
    """What C++ alone does not know is left to the emulation."""
    for pattern, instead in (SHARED, LAUNCH, ERROR):
        text = re.sub(pattern, instead, text)
    return text

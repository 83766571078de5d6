"""Small BSR matrices, and kernel sets that nobody compiled."""

import contextlib
import hashlib
import json
from types import SimpleNamespace

import torch

from assay.ops.kernel_set import Kernel

FP8 = torch.float8_e4m3fn


def bsr(rows, cols, block, dtype, seed=0, density=0.5):
    """(dense float64, (values, row_ptr, col_idx)); block row 1 is empty."""
    generator = torch.Generator().manual_seed(seed)
    grid = rows // block[0], cols // block[1]
    stored = torch.rand(grid, generator=generator) < density
    stored[1] = False
    values = torch.randn(rows, cols, generator=generator).to(dtype).double()
    dense = values * stored.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
    counts = stored.sum(1)
    row_ptr = torch.cat((torch.zeros(1, dtype=torch.int64), counts.cumsum(0))).int()
    tiles = dense.reshape(grid[0], block[0], grid[1], block[1]).transpose(1, 2)
    return dense, (tiles[stored].to(dtype).contiguous(), row_ptr, stored.nonzero()[:, 1].int())


def dense_b(k, n, dtype, seed=9):
    generator = torch.Generator().manual_seed(seed)
    if dtype == FP8:
        return torch.randn(n, k, generator=generator).to(dtype).t()
    return torch.randn(k, n, generator=generator).to(dtype)


def write_set(folder, *entries, choices=(), target="h100"):
    """kernels.json, and an empty library for each entry that names none."""
    kernels = []
    for entry in entries:
        path = folder / "sm_90a" / f"{entry['variant']}.so"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        kernels.append(
            {
                "operation": "bsr_gemm",
                "arch": "sm_90a",
                "dtype": "float16",
                "block": [128, 128],
                "block_b": None,
                "symbol": "assay_bsr_gemm",
                "path": f"sm_90a/{entry['variant']}.so",
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                **entry,
            }
        )
    document = {
        "schema": "assay/kernel_set/1",
        "target": target,
        "kernels": kernels,
        "choices": list(choices),
    }
    (folder / "kernels.json").write_text(json.dumps(document))
    return folder


def pretend_hopper(monkeypatch):
    """Have PyTorch name a GPU of compute capability 9.0, whose current stream is 77."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    stream = SimpleNamespace(cuda_stream=77)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)


def kernel(**changes):
    values = {
        "id": "mine", "operation": "bsr_gemm", "arch": "sm_90a", "dtype": "float16",
        "block": (16, 12), "block_b": None, "symbol": "assay_bsr_gemm", "path": "mine.so",
        "sha256": "0" * 64,
    }  # fmt: skip
    return Kernel(**{**values, **changes})

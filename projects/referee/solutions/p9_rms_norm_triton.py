import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def rms_norm(out, x, weight, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * width + at, mask=at < width, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(values * values, 0) / width + 1e-6)
    scaled = values * scale * tl.load(weight + at, mask=at < width, other=0.0).to(tl.float32)
    tl.store(out + row * width + at, scaled.to(out.dtype.element_ty), mask=at < width)


class ModelNew(nn.Module):
    """One program a row."""

    def forward(self, x, weight):
        out = torch.empty_like(x)
        rows, width = x.shape
        rms_norm[(rows,)](out, x, weight, width, BLOCK=triton.next_power_of_2(width), num_warps=8)
        return out

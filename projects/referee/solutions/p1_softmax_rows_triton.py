import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * width + at, mask=at < width, other=-float("inf"))
    raised = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * width + at, raised / tl.sum(raised, 0), mask=at < width)


class ModelNew(nn.Module):
    """One program a row; the row stays in registers."""

    def forward(self, x):
        out = torch.empty_like(x)
        rows, width = x.shape
        softmax[(rows,)](out, x, width, BLOCK=triton.next_power_of_2(width), num_warps=16)
        return out

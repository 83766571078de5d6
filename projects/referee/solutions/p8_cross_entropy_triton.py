import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def loss(out, logits, labels, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    begin = logits + row * width
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        values = tl.load(begin + at, mask=at < width, other=-float("inf"))
        higher = tl.maximum(top, values)
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - safe) + tl.exp(values - safe)
        top = higher
    most = tl.max(top, 0)
    whole = tl.sum(total * tl.exp(top - most), 0)
    tl.store(out + row, most + tl.log(whole) - tl.load(begin + tl.load(labels + row)))


class ModelNew(nn.Module):
    """Reads the logits once."""

    def forward(self, logits, labels):
        out = torch.empty(logits.shape[0], device=logits.device)
        loss[(logits.shape[0],)](out, logits, labels, logits.shape[1], BLOCK=4096, num_warps=8)
        return out

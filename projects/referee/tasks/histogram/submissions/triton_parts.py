import torch
import triton
import triton.language as tl


@triton.jit
def count(out, values, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.load(values + at, mask=at < size, other=0)
    counts = tl.histogram(found.to(tl.int32), 256)
    bins = tl.arange(0, 256)
    beyond = tl.maximum((tl.program_id(0) + 1) * BLOCK - size, 0)
    counts = tl.where(bins == 0, counts - beyond, counts)
    tl.atomic_add(out + bins, counts.to(tl.int64))


def custom_kernel(data):
    """Count parts, and add the counts."""
    out = torch.zeros(256, dtype=torch.int64, device=data.device)
    count[(triton.cdiv(data.numel(), 16384),)](out, data, data.numel(), BLOCK=16384)
    return out

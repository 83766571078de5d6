import torch
import triton
import triton.language as tl


@triton.jit
def brightness(out, image, pixels, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < pixels
    red = tl.load(image + 3 * at, mask=inside)
    green = tl.load(image + 3 * at + 1, mask=inside)
    blue = tl.load(image + 3 * at + 2, mask=inside)
    tl.store(out + at, 0.299 * red + 0.587 * green + 0.114 * blue, mask=inside)


def custom_kernel(data):
    """Read each pixel once."""
    out = torch.empty(data.shape[:2], device=data.device)
    brightness[(triton.cdiv(out.numel(), 1024),)](out, data, out.numel(), BLOCK=1024)
    return out

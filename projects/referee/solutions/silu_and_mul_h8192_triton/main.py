import triton
import triton.language as tl


@triton.jit
def silu_mul(out, gate, up, size, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    value = tl.load(gate + at, mask=inside).to(tl.float32)
    value = value * tl.sigmoid(value) * tl.load(up + at, mask=inside).to(tl.float32)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=inside)


def run(gate, up, out):
    silu_mul[(triton.cdiv(gate.numel(), 4096),)](out, gate, up, gate.numel(), BLOCK=4096)

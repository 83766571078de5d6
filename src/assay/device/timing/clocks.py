"""Cycles beside time: a tiny kernel stamps every SM's cycle counter and the GPU's own clock.

The kernel is PTX text that the driver compiles as it loads it, so no compiler is needed and nothing
of CUDA's runtime. Where anything of this fails, there are no cycles, and the record says why.
"""

import ctypes
from typing import Any

import torch

from assay.device.worker.cuda import DEVICE

SLOTS = 1024
"""More than any GPU has SMs; %smid may skip numbers."""
BLOCKS_PER_SM = 2
"""So that every SM gets at least one, whatever order the scheduler takes."""

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry assay_stamp(.param .u64 out)
{
    .reg .pred %p<3>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<7>;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    mov.u32 %r2, %smid;
    setp.ge.u32 %p2, %r2, 1024;
    @%p2 bra DONE;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r2, 16;
    add.s64 %rd4, %rd2, %rd3;
    mov.u64 %rd5, %clock64;
    mov.u64 %rd6, %globaltimer;
    st.global.v2.u64 [%rd4], {%rd5, %rd6};
DONE:
    ret;
}
"""


class Clocks(Exception):
    """Cycles cannot be read here."""


def _checked(code: int, what: str) -> None:
    if code != 0:
        raise Clocks(f"{what} returned CUresult {code}")


def clock_mhz(before: Any, after: Any) -> float | None:
    """Median over SMs of cycles by time; both are [SLOTS, 2] of (cycles, ns), zeros where no stamp.

    None where no SM has two stamps with time between them.
    """
    stamped = (before[:, 1] > 0) & (after[:, 1] > before[:, 1])
    cycles = (after[:, 0] - before[:, 0])[stamped].double()
    nanoseconds = (after[:, 1] - before[:, 1])[stamped].double()
    if cycles.numel() == 0:
        return None
    value = float((cycles / nanoseconds * 1e3).median())
    return round(value, 3) if value > 0 else None


class CycleCounter:
    """Mean SM clock between two stamps on the current stream. Raises Clocks where it can't be."""

    def __init__(self) -> None:
        # First, for it makes the context that a module is loaded into.
        self._stamps: Any = torch.zeros(2, SLOTS, 2, dtype=torch.int64, device=DEVICE)
        self._driver = ctypes.CDLL("libcuda.so.1")
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        text, found = ctypes.c_char_p(PTX.encode()), ctypes.byref(self._function)
        _checked(self._driver.cuModuleLoadData(ctypes.byref(module), text), "cuModuleLoadData")
        code = self._driver.cuModuleGetFunction(found, module, b"assay_stamp")
        _checked(code, "cuModuleGetFunction")
        properties = torch.cuda.get_device_properties(0)
        self._blocks = BLOCKS_PER_SM * int(properties.multi_processor_count)

    def stamp(self, which: int) -> None:
        """Enqueue a stamp: 0 before the work, 1 after it."""
        self._stamps[which].zero_()
        address = ctypes.c_uint64(self._stamps[which].data_ptr())
        arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(address), ctypes.c_void_p))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        shape = (ctypes.c_uint(size) for size in (self._blocks, 1, 1, 32, 1, 1, 0))
        code = self._driver.cuLaunchKernel(self._function, *shape, stream, arguments, None)
        _checked(code, "cuLaunchKernel")

    def read(self) -> float | None:
        """Mean SM clock in MHz between the two stamps, after the caller has synchronised."""
        stamps = self._stamps.cpu()
        return clock_mhz(stamps[0], stamps[1])


def open_counter() -> tuple[CycleCounter | None, str]:
    """Return a counter that was tried once, or None and why there is none."""
    try:
        counter = CycleCounter()
        counter.stamp(0)
        torch.cuda._sleep(200_000)
        counter.stamp(1)
        torch.cuda.synchronize()
        if counter.read() is None:
            return None, "no cycles: the stamps hold no time"
    except (Clocks, OSError, AttributeError, RuntimeError) as error:
        return None, f"no cycles: {error}"
    return counter, ""

"""``python -m assay.device.tasks.sanitized SPEC.json``: launch kernels while a sanitizer watches.

No PyTorch: it starts in no time, launches no kernels of its own, and every buffer is an allocation
of its own, so that a step beyond its end is a step out of bounds. SPEC says what to launch; what
became of each launch goes into SPEC's ``result``. It may name a control instead: a kernel that does
wrong on purpose, which the tool must catch, or else its silence elsewhere would prove nothing.
"""

import ctypes
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.shared.attention_call import (
    GRADIENTS,
    AttentionSizes,
    attention_backward_call,
    attention_call,
    forward_call,
    open_attention,
)
from assay.shared.launch_abi import open_launcher
from assay.shared.specs import Json

DEADLINE_S = 90
"""Of one kernel: a launch that hangs ends this process, and with it the tool that waits for it."""
CONTROL_BYTES = 256
FLOAT_BYTES = 4
THREADS = 64
"""Two warps: a race between them, and a barrier that a part of one never reaches."""

# Driver-compiled text: it needs no compiler, and what each entry does wrong is plain to read.
CONTROLS = """
.version 7.0
.target sm_75
.address_size 64

// Every thread writes one word, the last ones past the end of a buffer of 32 words.
.visible .entry memcheck(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 8;
    add.s64 %rd3, %rd2, %rd3;
    st.global.u32 [%rd3], %r1;
    ret;
}

// Every thread reads what a thread of the other warp wrote, without a barrier between.
.visible .entry racecheck(.param .u64 out)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 words[256];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, words;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r1;
    sub.u32 %r5, 252, %r3;
    add.u32 %r5, %r2, %r5;
    ld.shared.u32 %r5, [%r5];
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd3, %rd2, %rd3;
    st.global.u32 [%rd3], %r5;
    ret;
}

// One thread of each warp waits at a barrier of lanes that it is not one of; then the last sixteen
// threads go round the barrier that the others wait at. All have work left: threads that ended are
// missed at no barrier.
.visible .entry synccheck(.param .u64 out)
{
    .reg .pred %p<3>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 31;
    setp.gt.u32 %p2, %r2, 16;
    @%p2 bra OUTSIDE;
    bar.warp.sync 0x0000ffff;
OUTSIDE:
    setp.ge.u32 %p1, %r1, 48;
    @%p1 bra ROUND;
    bar.sync 0;
ROUND:
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd3, %rd2, %rd3;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


class DriverError(Exception):
    """A call of CUDA's driver failed."""


class Driver:
    """The few calls of CUDA's driver that a launch takes, in the primary context of the GPU."""

    def __init__(self) -> None:
        self._cuda: Any = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self._allocated: list[int] = []

    def call(self, name: str, *arguments: Any) -> None:
        """Raise DriverError when the call returns anything but success."""
        code = getattr(self._cuda, name)(*arguments)
        if code != 0:
            raise DriverError(f"{name} returned CUresult {code}")

    def allocate(self, size: int) -> int:
        """Address of ``size`` bytes on the GPU."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, size)))
        self._allocated.append(int(address.value))
        return self._allocated[-1]

    def free(self) -> None:
        """Give back all memory: a step out of bounds must not land in an earlier kernel's."""
        while self._allocated:
            self.call("cuMemFree_v2", ctypes.c_uint64(self._allocated.pop()))

    def upload(self, data: bytes) -> int:
        """Address of a copy of ``data`` on the GPU."""
        address = self.allocate(len(data))
        if data:
            target, size = ctypes.c_uint64(address), ctypes.c_size_t(len(data))
            self.call("cuMemcpyHtoD_v2", target, ctypes.c_char_p(data), size)
        return address

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        self.call("cuCtxSynchronize")

    def control(self, name: str) -> None:
        """Launch one of CONTROLS and wait for it."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        text = ctypes.c_char_p(CONTROLS.encode())
        self.call("cuModuleLoadData", ctypes.byref(module), text)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        address = ctypes.c_uint64(self.allocate(CONTROL_BYTES))
        arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(address), ctypes.c_void_p))
        shape = (ctypes.c_uint(size) for size in (1, 1, 1, THREADS, 1, 1, 0))
        self.call("cuLaunchKernel", function, *shape, None, arguments, None)
        self.synchronize()


def attention_of(driver: Driver, spec: Json, shape: Json) -> Callable[[], int]:
    """Return what enqueues one launch of an attention kernel, or of one for its gradients; its
    buffers are allocated here.
    """
    sizes, operands = AttentionSizes(**shape["attention"]), shape["operands"]
    addresses = {name: driver.upload(Path(path).read_bytes()) for name, path in operands.items()}
    call: ctypes.Structure
    if "gradient_bytes" in shape:
        for name, size in zip(GRADIENTS[1:], shape["gradient_bytes"], strict=True):
            addresses[name] = driver.allocate(size)
        forward = attention_call(sizes, addresses)
        call = attention_backward_call(forward, shape["strides"], addresses)
    else:
        addresses["o"] = driver.allocate(shape["output_bytes"])
        sums = sizes.batches * sizes.heads * sizes.queries
        addresses["lse"] = driver.allocate(FLOAT_BYTES * sums)
        call = forward_call(sizes, addresses)
    launcher = open_attention(Path(spec["library"]), spec["symbol"], type(call))
    size = launcher.workspace_bytes(call)
    workspace = driver.allocate(size)
    return lambda: launcher.launch(call, workspace, size, 0)


def product_of(driver: Driver, spec: Json, shape: Json) -> Callable[[], int]:
    """Return what enqueues one launch of any other kernel; its buffers are allocated here."""
    operands = [driver.upload(Path(path).read_bytes()) for path in shape["operands"].values()]
    output = driver.allocate(shape["output_bytes"])
    workspace = driver.allocate(spec["workspace_bytes"])
    taken = len(operands), len(shape["scalars"])
    launcher = open_launcher(Path(spec["library"]), spec["symbol"], *taken)
    tail = (*shape["scalars"], workspace, spec["workspace_bytes"], None)
    return lambda: int(launcher(*operands, output, *tail))


def launch(driver: Driver, spec: Json, shape: Json) -> Json:
    """Return one shape, launched as often as ``repeat`` says: {"name", "code", "error"}.

    ``code`` is the launcher's cudaError_t, ``error`` what the driver said while waiting.
    """
    enqueue = (attention_of if "attention" in shape else product_of)(driver, spec, shape)
    for _ in range(spec["repeat"]):
        code = enqueue()
        if code != 0:
            return {"name": shape["name"], "code": code, "error": ""}
        try:
            driver.synchronize()
        except DriverError as error:
            return {"name": shape["name"], "code": 0, "error": str(error)}
    return {"name": shape["name"], "code": 0, "error": ""}


def launch_all(driver: Driver, spec: Json, done: list[Json]) -> bool:
    """Launch a kernel's shapes, each noted in ``done``. Return whether the context still is."""
    signal.alarm(DEADLINE_S)
    for shape in spec["shapes"]:
        done.append(launch(driver, spec, shape))
        if done[-1]["error"]:
            return False
    driver.free()
    return True


def main(arguments: list[str]) -> int:
    """Entry point; 0 whatever the launches did, for the tool's own exit code must stand out."""
    signal.alarm(DEADLINE_S)
    spec: Json = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    kernels: list[list[Json]] = []
    result: Json = {"error": "", "kernels": kernels}
    try:
        driver = Driver()
        if "control" in spec:
            driver.control(spec["control"])
        for kernel in spec.get("kernels", []):
            kernels.append([])
            if not launch_all(driver, kernel, kernels[-1]):
                break
    except (DriverError, OSError, AttributeError) as error:
        result["error"] = str(error)
    Path(spec["result"]).write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

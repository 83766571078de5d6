"""One measurement at a time on a GPU: a lock per UUID, and NVML's word that nobody else is there.

The lock keeps Assay's own jobs apart, whatever user or container they run as, as long as they see
one lock directory. The look at NVML is for everybody else's jobs.
"""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.device.worker.telemetry import SHARED_GPU, Choice, NvmlSensor
from assay.shared.counting import counted
from assay.shared.errors import NoDevice
from assay.shared.gpu_locks import NO_LOCK, Lock
from assay.shared.specs import Json

SHARED_VARIABLE = "ASSAY_SHARED_GPU"
"""Set to "allow", a GPU that others use is measured all the same, and the record says so."""
SETTLE_S = 10.0
"""A process that just ended may be listed, and hold its memory, for some seconds."""
SETTLE_POLL_S = 0.5
MEMORY_LIMIT_BYTES = 4 * 2**30
"""In use with no context of ours: a driver's own share is below 1 GiB, a job's well above this."""


@dataclass(frozen=True)
class Use:
    """The use of a GPU by others, as far as NVML tells; None where it does not."""

    processes: int | None
    memory_bytes: int | None

    def foreign(self) -> str | None:
        """Return what shows others on the GPU, or None. Valid while we have no context."""
        if self.processes:
            return counted(self.processes, "other process", "other processes")
        if self.memory_bytes is not None and self.memory_bytes > MEMORY_LIMIT_BYTES:
            return f"{self.memory_bytes / 2**30:.1f} GiB of its memory in use by others"
        return None


UNKNOWN_USE = Use(None, None)


def count_processes(nvml: Any, handle: Any) -> int | None:
    """Compute processes on a GPU, or None where NVML refuses to say.

    In a container the process ids are another namespace's or missing, so only their number counts.
    """
    try:
        return len(nvml.nvmlDeviceGetComputeRunningProcesses(handle))
    except (nvml.NVMLError, AttributeError, TypeError):
        return None


def read_use(nvml: Any, uuid: str) -> Use:
    """Return who uses a GPU now, and its bytes in use beyond what the driver reserves; None for
    what these bindings cannot tell.
    """
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
    except nvml.NVMLError:
        return UNKNOWN_USE
    memory = None
    with contextlib.suppress(nvml.NVMLError, AttributeError, TypeError):
        memory = int(nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2).used)
    return Use(count_processes(nvml, handle), memory)


def require_alone(
    nvml: Any,
    choice: Choice,
    settle_s: float = SETTLE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Use, str]:
    """Wait until nobody else uses the GPU; the Use, and a remark where sharing was allowed.

    Call it while this job has no CUDA context. Raises NoDevice with one sentence.
    """
    waited = 0.0
    while True:
        use = read_use(nvml, choice.uuid)
        others = use.foreign()
        if others is None:
            return use, ""
        if waited >= settle_s:
            break
        sleep(SETTLE_POLL_S)
        waited += SETTLE_POLL_S
    if os.environ.get(SHARED_VARIABLE) == "allow":
        return use, f"measured although the GPU was shared: {others}"
    raise NoDevice(
        f"{choice.product} ({choice.uuid}) is in use: {others}; "
        f"end them, name another GPU with CUDA_VISIBLE_DEVICES, or set {SHARED_VARIABLE}=allow "
        "to measure a shared one"
    )


class Watch:
    """Looks now and then whether another compute process has joined ours."""

    def __init__(
        self, nvml: Any, uuid: str, interval_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._nvml, self._interval, self._clock = nvml, interval_s, clock
        self._handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        self._due = clock()
        self.shared_at: list[float] = []
        """Monotonic times at which more compute processes than ours were seen."""

    def poll(self, ours: int) -> None:
        """Look, if it is time to; ``ours``: how many processes we have."""
        now = self._clock()
        if now < self._due:
            return
        self._due = now + self._interval
        count = count_processes(self._nvml, self._handle)
        if count is not None and count > ours:
            self.shared_at.append(now)

    def void_reason(self, started: float, ended: float) -> str | None:
        """Return why work between two times is void, or None; an interval of slack either side."""
        slack = self._interval
        if any(started - slack <= at <= ended + slack for at in self.shared_at):
            return SHARED_GPU
        return None


WATCH_INTERVAL_S = 0.25
"""How often another compute process is looked for: a look costs NVML a millisecond or so."""


@dataclass(frozen=True)
class OpenGpu:
    """One GPU, and how it came to be ours."""

    nvml: Any
    """The initialised pynvml module."""
    choice: Choice
    lock: Lock = NO_LOCK
    use: Use = UNKNOWN_USE
    """Who used it before this job's first context."""
    remark: str = ""

    def sensor(self) -> NvmlSensor:
        """Return a reader of its clocks, power and temperature."""
        return NvmlSensor(self.nvml, self.choice.uuid)

    def watch(self) -> Watch:
        """Return a watch for others who begin to use it."""
        return Watch(self.nvml, self.choice.uuid, WATCH_INTERVAL_S)

    def exclusivity(self) -> Json:
        """Return the Exclusivity record."""
        return {
            "lock": self.lock.path,
            "waited_s": round(self.lock.waited_s, 3),
            "other_processes": self.use.processes,
            "memory_in_use_bytes": self.use.memory_bytes,
            "remark": "; ".join(part for part in (self.lock.detail, self.remark) if part),
        }

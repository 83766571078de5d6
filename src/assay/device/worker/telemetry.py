"""NVML: which GPU to use, and its clocks, power, temperature and event reasons over time."""

import bisect
import contextlib
import importlib
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.shared.errors import NoDevice
from assay.shared.specs import Json, TargetSpec

VOIDING_REASONS = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
"""Clock-event reasons that void a block."""

REGIMES = {
    0x02: "applications clocks",
    0x04: "software power cap",
    0x10: "synchronised boost",
    0x100: "display clocks",
}
"""Clock-event reasons that say how the GPU ran, not that something went wrong."""

SHARED_GPU = "another process used the GPU"
"""Why a block is void that somebody else's work disturbed; no clock event shows it."""


@dataclass(frozen=True)
class NvmlSample:
    """One look at the GPU."""

    clock_sm_mhz: int
    clock_memory_mhz: int
    power_w: float
    temperature_c: int
    event_reasons: int


@dataclass
class TelemetryTrace:
    """Samples on the monotonic clock, which all processes of a machine share."""

    at: list[float] = field(default_factory=list)
    readings: list[NvmlSample] = field(default_factory=list)

    @property
    def origin(self) -> float:
        """Time of the first sample: zero of every time in a record."""
        return self.at[0]

    def between(self, began: float, ended: float) -> "TelemetryTrace":
        """Return the samples between two times, the one before them and the one after."""
        first = max(0, bisect.bisect_right(self.at, began) - 1)
        last = bisect.bisect_left(self.at, ended) + 1
        return TelemetryTrace(self.at[first:last], self.readings[first:last])

    def record(self) -> Json:
        """Return the Telemetry record, column-wise."""
        columns: Json = {
            name: [getattr(reading, name) for reading in self.readings]
            for name in NvmlSample.__dataclass_fields__
        }
        return {"at_s": [round(at - self.origin, 4) for at in self.at], **columns}

    def void_reason(self, started: float, ended: float, slack: float) -> str | None:
        """Return why work between two times does not count, or None.

        ``slack`` (one sampling interval) widens the span: an event shows in the next sample.
        """
        return ", ".join(self._seen(VOIDING_REASONS, started, ended, slack)) or None

    def regimes(self, started: float, ended: float, slack: float) -> list[str]:
        """Regimes that the GPU was in between two times; ``slack`` as above."""
        return self._seen(REGIMES, started, ended, slack)

    def _seen(
        self, names: Mapping[int, str], started: float, ended: float, slack: float
    ) -> list[str]:
        seen = 0
        # However late the next sample is, an event shows in it.
        for reading in self.between(started, ended).readings:
            seen |= reading.event_reasons
        for at, reading in zip(self.at, self.readings, strict=True):
            if started - slack <= at <= ended + slack:
                seen |= reading.event_reasons
        return [name for bit, name in names.items() if seen & bit]


class Recorder:
    """Samples a sensor at an interval, whenever its owner has a moment."""

    def __init__(
        self, sensor: "NvmlSensor", interval_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sensor, self._interval, self._clock = sensor, interval_s, clock
        self.telemetry = TelemetryTrace()
        self.sample()

    def sample(self) -> None:
        """Take a sample now."""
        reading = self._sensor.read()
        self.telemetry.at.append(self._clock())
        self.telemetry.readings.append(reading)

    def poll(self) -> float:
        """Take a sample if one is due; returns seconds until the next is."""
        due = self.telemetry.at[-1] + self._interval
        if self._clock() >= due:
            self.sample()
            due = self.telemetry.at[-1] + self._interval
        return max(0.0, due - self._clock())


@dataclass(frozen=True)
class Choice:
    """The GPU a job runs on."""

    index: int
    uuid: str
    product: str


def load_nvml() -> Any:
    """Return the initialised pynvml module. Raises NoDevice with the remedy."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        raise NoDevice("the device Python lacks nvidia-ml-py: pip install nvidia-ml-py") from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NoDevice(f"there is no usable NVIDIA driver: {error}") from error
    return nvml


def text(value: str | bytes) -> str:
    """Return a string from NVML, whose older bindings return bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _visible(nvml: Any, environment: Mapping[str, str]) -> list[tuple[int, Any]]:
    """(index, handle) of the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order."""
    count = nvml.nvmlDeviceGetCount()
    handles = [(index, nvml.nvmlDeviceGetHandleByIndex(index)) for index in range(count)]
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return handles
    chosen = []
    for name in filter(None, (part.strip() for part in wanted.split(","))):
        if name.startswith("MIG"):
            raise NoDevice(f"{name} is a MIG slice: Assay measures whole GPUs only")
        for index, handle in handles:
            uuid = text(nvml.nvmlDeviceGetUUID(handle))
            if name == str(index) or (name.startswith("GPU-") and uuid.startswith(name)):
                chosen.append((index, handle))
    return chosen


def _mig_enabled(nvml: Any, handle: Any) -> bool:
    with contextlib.suppress(nvml.NVMLError):
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    return False


def choose_device(nvml: Any, target: TargetSpec, environment: Mapping[str, str]) -> Choice:
    """Return the first visible GPU that is the target. Raises NoDevice naming what is there."""
    others = []
    for index, handle in _visible(nvml, environment):
        product = text(nvml.nvmlDeviceGetName(handle))
        if re.fullmatch(target.product_pattern, product) is None:
            others.append(product)
        elif _mig_enabled(nvml, handle):
            others.append(f"{product} with MIG enabled")
        else:
            return Choice(index, text(nvml.nvmlDeviceGetUUID(handle)), product)
    found = f"this machine offers {', '.join(others)}" if others else "no GPU is visible"
    raise NoDevice(f"target '{target.id}' asks for '{target.product_pattern}', but {found}")


def open_target(target: TargetSpec) -> tuple[Any, Choice]:
    """NVML and the target's GPU; CUDA, once initialised, will see that GPU alone."""
    nvml = load_nvml()
    choice = choose_device(nvml, target, os.environ)
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ["CUDA_VISIBLE_DEVICES"] = choice.uuid
    return nvml, choice


class NvmlSensor:
    """Reads one GPU through NVML."""

    def __init__(self, nvml: Any, uuid: str) -> None:
        self._nvml = nvml
        self._handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        # Renamed by the driver's 535 release; older bindings know the old name only.
        new = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
        self._reasons: Any = new or nvml.nvmlDeviceGetCurrentClocksThrottleReasons

    def read(self) -> NvmlSample:
        """Return the GPU's state now. Raises NoDevice when NVML refuses one of the quantities."""
        nvml, handle = self._nvml, self._handle
        try:
            return NvmlSample(
                clock_sm_mhz=int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
                clock_memory_mhz=int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
                power_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1000.0,
                temperature_c=int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
                event_reasons=int(self._reasons(handle)),
            )
        except nvml.NVMLError as error:
            raise NoDevice(f"NVML refuses the telemetry of this GPU: {error}") from error

"""The GPU of a job, as every task is given it."""

from dataclasses import dataclass
from typing import Any

from assay.device.worker.locks import UNKNOWN_USE, Use, Watch, exclusivity_record
from assay.device.worker.telemetry import Choice, NvmlSensor
from assay.shared.gpu_locks import NO_LOCK, Lock
from assay.shared.specs import Json

WATCH_INTERVAL_S = 0.25
"""How often a second compute process is looked for: a look costs NVML a millisecond or so."""


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
    ready_s: float = 0.0
    """Seconds of starting and importing before this job, but for waiting."""

    def sensor(self) -> NvmlSensor:
        """Return a reader of its clocks, power and temperature."""
        return NvmlSensor(self.nvml, self.choice.uuid)

    def watch(self) -> Watch:
        """Return a watch for others who begin to use it."""
        return Watch(self.nvml, self.choice.uuid, WATCH_INTERVAL_S)

    def exclusivity(self) -> Json:
        """Return the Exclusivity record."""
        return exclusivity_record(self.lock, self.use, self.remark)

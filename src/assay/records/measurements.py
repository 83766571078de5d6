"""What the device side measured: correctness, raw samples, telemetry, program output, profiles."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256


class Check(Record):
    """One comparison of an output with the oracle."""

    name: str
    """What was checked: timed_shape, ragged, unaligned, poisoned, inputs_unchanged, repeat ..."""
    seed: int
    passed: bool
    relative_error: float | None
    """||out - oracle||_F / ||oracle||_F; None where the check compares bytes."""
    max_abs_error: float | None
    detail: str


class ArmCorrectness(Record):
    """All checks of one arm."""

    arm: Identifier
    variant: Identifier
    workload: Identifier
    status: Literal["correct", "incorrect", "unsupported", "failed"]
    """``unsupported``: the variant refuses this shape or device; ``failed``: it crashed."""
    checks: tuple[Check, ...]
    detail: str
    binary_sha256: Sha256 | None


class CorrectnessRecord(Record):
    """The gate: only arms that are ``correct`` are timed."""

    schema_: Literal["assay/correctness/1"] = Field(alias="schema")
    comparison: Identifier
    target: Identifier
    gpu_uuid: str
    arms: tuple[ArmCorrectness, ...]
    seconds: float


class Turn(Record):
    """Consecutive timed launches of one arm; ``times_ms`` are the raw samples, in order."""

    arm: str
    """Arm id, or ``control`` for the second name of the A/A arm."""
    times_ms: Annotated[tuple[float, ...], Field(min_length=1)]
    started_s: float
    """Seconds since the process's first telemetry sample."""
    ended_s: float
    checked: bool
    """Whether the last output of this turn was compared with the oracle."""
    relative_error: float | None


class Block(Record):
    """One randomised ABBA block: every arm takes two turns, the second half mirrored."""

    turns: tuple[Turn, ...]
    void: str | None
    """Why the block does not count (thermal or power-brake event), or None."""


class Telemetry(Record):
    """NVML samples, column-wise, all of one length; None where NVML refused a quantity."""

    at_s: tuple[float, ...]
    clock_sm_mhz: tuple[int, ...]
    clock_memory_mhz: tuple[int, ...]
    power_w: tuple[float, ...]
    temperature_c: tuple[int, ...]
    event_reasons: tuple[int, ...]
    """NVML clock-event reason bit masks."""


class ArmFacts(Record):
    """What the samples of an arm are samples of."""

    arm: Identifier
    variant: Identifier
    workload: Identifier
    flop: int
    """Floating-point operations of one launch, stored blocks only (see assay.flops)."""
    bytes: int
    """Least traffic of one launch: inputs read once, output written once."""
    pattern_sha256: Sha256 | None
    stored_blocks: int | None
    density: float | None
    binary_sha256: Sha256 | None
    warmup_ms: float


class Process(Record):
    """One fresh process."""

    index: int
    arms: tuple[ArmFacts, ...]
    blocks: tuple[Block, ...]
    telemetry: Telemetry
    seconds: float
    gpu_seconds: float
    """Sum of all timed and warm-up GPU work, as events measured it."""


class BenchmarkRecord(Record):
    """Raw samples of one comparison on one GPU."""

    schema_: Literal["assay/benchmark/1"] = Field(alias="schema")
    comparison: Identifier
    target: Identifier
    gpu_uuid: str
    recorded_at: str
    protocol: Identifier
    not_timed: dict[str, str]
    """Arms without samples and why (incorrect, unsupported, failed)."""
    processes: tuple[Process, ...]
    seconds: float


class ProgramRun(Record):
    """One start of an original program."""

    exit_code: int
    seconds: float
    stdout: str
    """The program's output; long lists are kept whole in compressed evidence."""
    stderr: str


class ProgramRecord(Record):
    """All starts of an original program with one list of arguments."""

    schema_: Literal["assay/program/1"] = Field(alias="schema")
    program: Identifier
    arguments: tuple[str, ...]
    target: Identifier
    gpu_uuid: str
    recorded_at: str
    binary_sha256: Sha256
    runs: tuple[ProgramRun, ...]
    telemetry: Telemetry


MetricStatus = Literal["collected", "permission_denied", "unsupported", "not_installed"]


class ProfileRecord(Record):
    """Nsight Compute's metrics of one arm; never a judged timing."""

    schema_: Literal["assay/profile/1"] = Field(alias="schema")
    comparison: Identifier
    arm: Identifier
    target: Identifier
    gpu_uuid: str
    status: MetricStatus
    detail: str
    kernel: str | None
    """Name of the profiled kernel (the longest of the launch)."""
    metrics: dict[str, float]
    """Nsight Compute metric name to value, in the units of ``units``."""
    units: dict[str, str]
    raw_page: str | None
    """The whole raw page as CSV."""


class Inspection(Record):
    """Counts of a file in a pinned package."""

    claim: Identifier
    package: str
    version: str
    path: str
    lines: int
    bytes: int
    sha256: Sha256


class InspectionsRecord(Record):
    """All inspections of a run."""

    schema_: Literal["assay/inspections/1"] = Field(alias="schema")
    inspections: tuple[Inspection, ...]

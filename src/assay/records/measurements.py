"""The records of figures: correctness, raw samples with telemetry, output of original programs."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import GpuRecord, Identifier, Moment, Record, Sha256, Symbol, Unread


class Check(Record):
    """One comparison of an output with the oracle."""

    name: str
    """What was checked: timed_shape, ragged, unaligned, rounds, many_rows, poisoned, repeat ..."""
    seed: int
    passed: bool
    relative_error: float | None
    """||out - oracle||_F / ||oracle||_F; None where the check compares bytes."""
    max_abs_error: float | None
    detail: str
    limit: float | None = None
    """Largest absolute error that passes, where it is the launch's own and not the problem's; None
    elsewhere, and in records from before, which tell it in words."""


class TrueProduct(Record):
    """How far a program that is wrong by nature is from what it should compute.

    Its checks hold it to what it really computes; this is about the product of the stored blocks,
    on the timed shape.
    """

    seed: int
    products: Annotated[int, Field(ge=0)]
    """Block products that it does."""
    true_products: Annotated[int, Field(ge=0)]
    """Pairs of stored blocks that meet; one stored twice counts twice, for values add up."""
    relative_error: float | None
    """||out - A B||_F / ||A B||_F; None where one of them is not finite."""

    @property
    def missed(self) -> float:
        """Return the share of the products that it leaves out."""
        return 1 - self.products / self.true_products if self.true_products else 0.0


class ArmCorrectness(Record):
    """All checks of one arm."""

    arm: Identifier
    variant: Identifier
    workload: Identifier
    status: Literal["correct", "incorrect", "unsupported", "not_installed", "failed"]
    """``unsupported``: the variant refuses this shape or device; ``not_installed``: a library that
    it calls is not here; ``failed``: it crashed."""
    checks: tuple[Check, ...]
    detail: str
    binary_sha256: Sha256 | None
    refused: tuple[Identifier, ...] | None = None
    """Extra shapes of the gate that the kernel refuses to run, by name; None in records from before
    this was one of their fields."""
    true_product: TrueProduct | None = None
    """Of an arm whose problem makes its program miss products; of every other None."""
    fixed_inputs: bool = False
    """Whether a problem draws the same inputs for every seed: a result that was kept is right then.
    False in records from before."""
    packages: dict[str, str] | None = None
    """Of an arm that calls a library: version of each distribution of which a module was imported
    in the process that checked it, wherever it is installed. None of kernels that are compiled
    here, where that process died, and in records from before."""


class CorrectnessRecord(GpuRecord):
    """The gate: only arms that are ``correct`` are timed."""

    schema_: Literal["assay/correctness/1"] = Field(alias="schema")
    comparison: Identifier
    target: Identifier
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
    """Whether an output of this turn was compared with the oracle."""
    relative_error: float | None
    clock_mhz: float | None = None
    """Mean SM clock of the record's ``clock_of``, cycles (%clock64) by time (%globaltimer); None
    where unknown. A launch takes its time in ms times 1000 times this many cycles."""


class Block(Record):
    """One randomised ABBA block: every arm takes two turns, the second half mirrored."""

    turns: tuple[Turn, ...]
    void: str | None
    """Why the block does not count (thermal or power-brake event, another process), or None."""
    regimes: tuple[str, ...] = ()
    """How the GPU ran, by its clock-event reasons (software power cap ...); never void for it."""


class Telemetry(Record):
    """NVML samples, column-wise, all of one length; None where NVML refused a quantity."""

    at_s: tuple[float, ...]
    clock_sm_mhz: tuple[int, ...]
    clock_memory_mhz: tuple[int, ...]
    power_w: tuple[float, ...]
    temperature_c: tuple[int, ...]
    event_reasons: tuple[int, ...]
    """NVML clock-event reason bit masks."""


class TriedConfiguration(Record):
    """One configuration of a library's kernel, tried on the inputs that it is then timed on."""

    settings: dict[Symbol, int]
    ms: Annotated[float, Field(gt=0)] | None
    """Median time of a launch; None for one that did not run."""
    refused: str | None
    """Why it did not."""


class RivalSweep(Record):
    """How a library was tuned on a workload: everything tried, in order, some twice."""

    search: str
    """``grid``, or whose tuner picked what to try."""
    chosen: dict[Symbol, int]
    """What the samples are of."""
    tried: Annotated[tuple[TriedConfiguration, ...], Field(min_length=1)]
    seconds: float
    recorded_at: Moment | None = None
    """When it was swept, by an earlier run perhaps; None in records from before."""


class ArmFacts(Record):
    """The facts of an arm that give its samples their meaning."""

    arm: Identifier
    variant: Identifier
    workload: Identifier
    flop: int
    """Floating-point operations of one launch, stored blocks only (see assay.shared.flops)."""
    bytes: int
    """Least traffic of one launch: inputs read once, output written once."""
    pattern_sha256: Unread = None
    stored_blocks: int | None
    density: float | None
    binary_sha256: Sha256 | None
    warmup_ms: Unread = None
    launches_per_sample: Annotated[int, Field(ge=1)] = 1
    """Launches that one timed graph holds; a sample is the time of one launch all the same."""
    counts: dict[str, float] = {}
    """What the problem has, by name, for formulas over it (``assay.shared.expressions``);
    docs/claims.md lists them. Empty in records from before."""
    unwritten: Unread = None
    input_bytes: Annotated[int, Field(ge=0)] | None = None
    """Device memory of the inputs: values and lists."""
    launch_bytes: Annotated[int, Field(ge=0)] | None = None
    """Device memory that a launch takes beside them, at most: output, workspace, what a library
    allocates. Both None in records from before, and where many buffers rotate."""
    swept: RivalSweep | None = None
    """Of a library that was tuned on this workload."""


class Process(Record):
    """One fresh process."""

    index: int
    arms: tuple[ArmFacts, ...]
    blocks: tuple[Block, ...]
    telemetry: Telemetry
    seconds: float
    """Of its own: processes get ready side by side, and what one waits for others is left out."""
    timer: Literal["events", "graph"] = "events"
    """How the samples were taken, which a graph that can't be captured changes to events."""
    gpu_seconds: Unread = None
    wall: Unread = None


class Exclusivity(Record):
    """The guard against other work on the GPU, and such work seen before the first process."""

    lock: str | None
    """Path of the lock that was held, on the machine that measured; None where there was none."""
    waited_s: float
    other_processes: int | None
    """Compute processes before ours; None where NVML does not say."""
    memory_in_use_bytes: int | None
    remark: str
    """Why there was no lock, or that a shared GPU was measured on purpose."""


class BenchmarkRecord(GpuRecord):
    """Raw samples of one comparison on one GPU."""

    schema_: Literal["assay/benchmark/1"] = Field(alias="schema")
    comparison: Identifier
    target: Identifier
    recorded_at: Moment
    protocol: Identifier
    not_timed: dict[str, str]
    """Arms without samples and why (incorrect, unsupported, failed)."""
    wrong: tuple[str, ...] = ()
    """Those that the gate found right, and of which an output was wrong in a timed launch."""
    processes: tuple[Process, ...]
    seconds: float
    exclusivity: Exclusivity | None = None
    import_seconds: Unread = None
    remarks: tuple[str, ...] = ()
    """What did not go as the protocol asked (no cycles, no graphs), each once."""
    clock_of: Literal["turn", "launch"] = "turn"
    """What the clocks of the turns are of: their last launch, or, as first recorded, all of the
    turn. While L2 is flushed between launches the clock is higher than in them."""
    looks: tuple[int, ...] = ()
    """After how many processes a verdict was looked for; empty where their number was fixed."""
    alone: Process | None = None
    """The control in a process without the other arms, where a project's code could slow it
    down."""

    def __hash__(self) -> int:
        """Return a number of few of its fields, for a mapping among them has none."""
        return hash((self.target, self.comparison, self.recorded_at))


class ProgramRun(Record):
    """One start of an original program."""

    exit_code: int
    seconds: float
    stdout: str
    """The program's output; long lists are kept whole in compressed evidence."""
    stderr: str


class VerificationRun(ProgramRun):
    """One start with arguments that make the program check its output; no time is taken of it."""

    arguments: tuple[str, ...]
    """All that it was given: those of the timed runs, and what makes it check."""


class ProgramRecord(GpuRecord):
    """All starts of an original program with one list of arguments."""

    schema_: Literal["assay/program/1"] = Field(alias="schema")
    program: Identifier
    arguments: tuple[str, ...]
    target: Identifier
    recorded_at: Moment
    binary_sha256: Sha256
    runs: tuple[ProgramRun, ...]
    """The timed ones."""
    verification: VerificationRun | None = None
    """None for a program that checks its output in every run, and in records of versions that did
    not ask for it."""
    telemetry: Telemetry
    """Of the timed runs."""

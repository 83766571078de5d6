"""Reading a job and writing its record. Jobs were validated by the host, as pydantic records."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from assay.shared.errors import BadJob

Json = dict[str, Any]
T = TypeVar("T")

SCHEMA = "assay/job/1"
TASKS = (
    "device",
    "correctness",
    "benchmark",
    "program",
    "profile",
    "stopwatch",
    "cheats",
    "sanitize",
    "operators",
)


@dataclass(frozen=True)
class Target:
    """The GPU that was asked for."""

    id: str
    product_pattern: str


@dataclass(frozen=True)
class Pattern:
    """Which blocks are stored (see assay.shared.sparsity)."""

    kind: str
    block_rows: int
    block_cols: int
    blocks_per_row: int


@dataclass(frozen=True)
class Workload:
    """One problem; a dimension that its operation does not have is 0."""

    id: str
    operation: str
    dtype: str
    distribution: str
    seed: int
    relative_tolerance: float
    max_abs_tolerance: float | None = None
    m: int = 0
    n: int = 0
    k: int = 0
    groups: int = 0
    batch: int = 0
    heads: int = 0
    seq_q: int = 0
    seq_kv: int = 0
    head_dim: int = 0
    pattern: Pattern | None = None
    pattern_b: Pattern | None = None


@dataclass(frozen=True)
class Variant:
    """One implementation: a compiled kernel (symbol, abi) or a library (entry)."""

    id: str
    operation: str
    kind: str
    symbol: str | None = None
    abi: str | None = None
    entry: str | None = None


@dataclass(frozen=True)
class Artifact:
    """A compiled library and the digest it must have."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class ArmSpec:
    """One side of a comparison, with everything it takes to run it."""

    id: str
    variant: Variant
    workload: Workload
    artifact: Artifact | None


@dataclass(frozen=True)
class Comparison:
    """Arms that are measured interleaved; ``control`` is the arm measured under two names."""

    id: str
    control: str
    arms: tuple[ArmSpec, ...]


@dataclass(frozen=True)
class Protocol:
    """How samples are taken; see records/workloads.py for each field."""

    id: str
    processes: int
    blocks: int
    samples: int
    l2: str
    warmup_min_ms: float
    warmup_max_ms: float
    warmup_stable_fraction: float
    telemetry_interval_ms: float
    checked_turns: float
    timer: str = "events"
    turn_min_ms: float = 0.0
    settle_ms: float = 0.0


@dataclass(frozen=True)
class Job:
    """The parts that every task shares, and the whole document for the rest."""

    task: str
    target: Target
    output: Path
    document: Json


def _make(kind: type[T], data: Any, where: str, **given: Any) -> T:
    """A dataclass from a record's JSON: the fields it names, null meaning its default."""
    if not isinstance(data, Mapping):
        raise BadJob(f"job: {where} must be an object")
    values = dict(given)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in values:
            continue
        value = data.get(field.name)
        if value is not None:
            values[field.name] = value
        elif field.default is dataclasses.MISSING:
            raise BadJob(f"job: {where} lacks '{field.name}'")
    return kind(**values)


def entry(document: Mapping[str, Any], key: str, where: str = "job") -> Any:
    """A required member of an object. Raises BadJob when it is absent."""
    if key not in document:
        raise BadJob(f"{where} lacks '{key}'")
    return document[key]


def read_job(path: Path) -> Job:
    """Read a job file. Raises BadJob with one sentence."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadJob(f"{path}: cannot be read as a job: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise BadJob(f"{path}: is not a {SCHEMA} document")
    task = entry(document, "task")
    if task not in TASKS:
        raise BadJob(f"job: unknown task '{task}'; there are {', '.join(TASKS)}")
    target = _make(Target, entry(document, "target"), "target")
    return Job(task, target, Path(entry(document, "output")), document)


def make_workload(data: Any) -> Workload:
    """A Workload from its record."""
    where = "workload"
    patterns: dict[str, Pattern | None] = {}
    for name in ("pattern", "pattern_b"):
        value = data.get(name) if isinstance(data, Mapping) else None
        patterns[name] = None if value is None else _make(Pattern, value, f"{where} {name}")
    return _make(Workload, data, where, **patterns)


def make_comparison(job: Job) -> Comparison:
    """The comparison of a job, its arms joined with variants, workloads and artifacts."""
    document = job.document
    comparison = entry(document, "comparison")
    variants = entry(document, "variants")
    workloads = entry(document, "workloads")
    artifacts = document.get("artifacts", {})
    arms = []
    for arm in entry(comparison, "arms", "comparison"):
        name, variant_id, workload_id = (entry(arm, key, "arm") for key in _ARM_KEYS)
        where = f"arm '{name}'"
        variant = _make(Variant, entry(variants, variant_id, f"{where}: variants"), where)
        artifact = artifacts.get(variant_id)
        if variant.kind == "kernel" and artifact is not None:
            artifact = Artifact(Path(entry(artifact, "path")), entry(artifact, "sha256"))
        else:
            artifact = None
        workload = make_workload(entry(workloads, workload_id, f"{where}: workloads"))
        arms.append(ArmSpec(name, variant, workload, artifact))
    control = entry(comparison, "control", "comparison")
    return Comparison(entry(comparison, "id", "comparison"), control, tuple(arms))


_ARM_KEYS = ("id", "variant", "workload")


def make_protocol(job: Job) -> Protocol:
    """The protocol of a benchmark job."""
    return _make(Protocol, entry(job.document, "protocol"), "protocol")

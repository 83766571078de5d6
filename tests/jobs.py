"""Jobs as the host hands them to the device side."""

from pathlib import Path
from typing import Any

from assay.shared.job import BenchmarkJob
from assay.shared.job_file import SCHEMA, QueuedJob, job_content
from assay.shared.specs import (
    ArmSpec,
    ArtifactSpec,
    ComparisonSpec,
    PatternSpec,
    ProtocolSpec,
    TargetSpec,
    VariantSpec,
    WorkloadSpec,
)

TARGET = TargetSpec("h100", "NVIDIA H100.*")
SPARSE = WorkloadSpec(
    "w", "bsr_gemm", "float16", "normal", 1, relative_tolerance=0.001,
    m=64, n=32, k=96, pattern=PatternSpec("random", 16, 32, 2),
)  # fmt: skip
DENSE = WorkloadSpec(
    "dense", "dense_gemm", "float16", "normal", 1, relative_tolerance=0.001, m=64, n=32, k=96
)
KERNEL = VariantSpec("k", "bsr_gemm", "kernel", symbol="assay_bsr_gemm", abi="bsr_gemm")
LIBRARY = VariantSpec("lib", "bsr_gemm", "library", entry="torch_bsr")
PRODUCT = VariantSpec("mm", "dense_gemm", "library", entry="cublas_dense")
QUICK = ProtocolSpec(
    id="quick", blocks=2, samples=2, l2="cold", warmup_min_ms=0.1, warmup_max_ms=5.0,
    warmup_stable_fraction=0.5, telemetry_interval_ms=5.0, checked_turns=0.25,
)  # fmt: skip
BUILT = ArtifactSpec("k.so", "0" * 64)


def comparison(*arms: ArmSpec, name: str = "c") -> ComparisonSpec:
    """Arms side by side, of which the first is the control; a kernel and a library by default."""
    given = arms or (
        ArmSpec("ours", KERNEL, SPARSE, BUILT),
        ArmSpec("theirs", LIBRARY, SPARSE, None),
    )
    return ComparisonSpec(name, given[0].id, given)


def benchmark(*arms: ArmSpec, name: str = "c", **changes: Any) -> BenchmarkJob:
    compared = comparison(*arms, name=name)
    given = {"timed": tuple(arm.id for arm in compared.arms), "not_timed": {}, **changes}
    return BenchmarkJob(TARGET, compared, QUICK, **{"first": 0, "processes": 5, **given})


def document(job: Any, output: str = "out.json") -> dict[str, Any]:
    return {"schema": SCHEMA, "output": output, **job_content(job)}


def queued(job: Any, output: Path) -> QueuedJob:
    return QueuedJob(job, output)

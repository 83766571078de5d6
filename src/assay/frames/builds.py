"""The frame of build records. Pure."""

from collections.abc import Iterable

import pandas as pd

from assay.frames.columns import Column, frame_of_rows
from assay.records.builds import BuildRecord

BUILDS = (
    Column("of", "category", "run: compiled by it; else the target whose figures it came with"),
    Column("id", "object", "variant, program or probe"),
    Column("kind", "category", "variant, program or probe"),
    Column("arch", "category", "architecture, as nvcc names it"),
    Column("status", "category", "built or failed"),
    Column("key", "object", "SHA-256 of sources, command and toolchain lock"),
    Column("artifact_sha256", "object", "the library or program"),
    Column("artifact_bytes", "float64", "its size"),
    Column("code_sha256", "object", "machine code but for line tables"),
    Column("registers", "float64", "most of any entry, a thread"),
    Column("spilled_bytes", "float64", "stores and loads of all entries"),
    Column("static_shared_bytes", "float64", "most of any entry, a block"),
    Column("asserts", "object", "whether device code calls the assertion handler"),
    Column("built_elsewhere", "bool", "whether a prebuilt artifact was taken over"),
    Column("seconds", "float64", "wall clock of the compilation"),
    Column("cpu_seconds", "float64", "processor time"),
    Column("peak_bytes", "float64", "resident memory of its largest process"),
    Column("nvcc", "category", "release of the compiler"),
    Column("lock_sha256", "category", "digest of the toolchain's lock"),
)
"""One row a build record."""


def builds(records: Iterable[tuple[str, BuildRecord]]) -> pd.DataFrame:
    """Return (of, record) pairs with the columns ``BUILDS``."""
    return frame_of_rows(BUILDS, [_row(of, record) for of, record in records])


def _row(of: str, record: BuildRecord) -> tuple[object, ...]:
    used, cost = record.resources, record.cost
    return (
        of,
        record.id,
        record.kind,
        record.arch,
        record.status,
        record.key,
        record.artifact and record.artifact.sha256,
        record.artifact and record.artifact.bytes,
        record.code_sha256,
        max((entry.registers for entry in used), default=None),
        sum(e.spill_store_bytes + e.spill_load_bytes for e in used) if used else None,
        max((entry.static_shared_bytes for entry in used), default=None),
        record.asserts,
        record.built_elsewhere,
        cost and cost.seconds,
        cost and cost.cpu_seconds,
        cost and cost.peak_bytes,
        record.toolchain.nvcc,
        record.toolchain.lock_sha256,
    )

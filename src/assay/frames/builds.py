"""The frame of build records. Pure."""

from collections.abc import Iterable

import pandas as pd

from assay.frames.columns import Column, frame_of_records
from assay.records.builds import BuildRecord

BUILDS = (
    Column("of", "category", "run: compiled by it; else the target whose figures it came with"),
    Column("id", "object", "variant, program or probe"),
    Column("kind", "category", "variant, program or probe"),
    Column("arch", "category", "architecture, as nvcc names it"),
    Column("status", "category", "built or failed"),
    Column("key", "object", "SHA-256 of sources, command and toolchain lock"),
    Column("artifact_sha256", "object", "the library or program", "artifact.sha256"),
    Column("artifact_bytes", "float64", "its size", "artifact.bytes"),
    Column("code_sha256", "object", "machine code but for line tables"),
    Column("registers", "float64", "most of any entry, a thread"),
    Column("spilled_bytes", "float64", "stores and loads of all entries"),
    Column("static_shared_bytes", "float64", "most of any entry, a block"),
    Column("asserts", "object", "whether device code calls the assertion handler"),
    Column("built_elsewhere", "bool", "whether a prebuilt artifact was taken over"),
    Column("seconds", "float64", "wall clock of the compilation", "cost.seconds"),
    Column("cpu_seconds", "float64", "processor time", "cost.cpu_seconds"),
    Column("peak_bytes", "float64", "resident memory of its largest process", "cost.peak_bytes"),
    Column("nvcc", "category", "release of the compiler", "toolchain.nvcc"),
    Column("lock_sha256", "category", "digest of the toolchain's lock", "toolchain.lock_sha256"),
)
"""One row a build record."""


def builds(records: Iterable[tuple[str, BuildRecord]]) -> pd.DataFrame:
    """Return (of, record) pairs with the columns ``BUILDS``."""
    return frame_of_records(BUILDS, [(record, _beside(of, record)) for of, record in records])


def _beside(of: str, record: BuildRecord) -> dict[str, object]:
    used = record.resources
    spilled = sum(each.spill_store_bytes + each.spill_load_bytes for each in used)
    return {
        "of": of,
        "registers": max((each.registers for each in used), default=None),
        "spilled_bytes": spilled if used else None,
        "static_shared_bytes": max((each.static_shared_bytes for each in used), default=None),
    }

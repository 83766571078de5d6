"""Compiled artifacts as jobs name them, and the kernels behind PyTorch's operators."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from assay.base.errors import CheckFailed
from assay.catalog.model import Catalog
from assay.records.builds import BuildRecord, FileDigest
from assay.records.kernels import OperatorKernel
from assay.records.platform import is_for
from assay.records.rivals import KernelEntry
from assay.shared.files import sha256_file
from assay.shared.specs import ArtifactSpec

Builds: TypeAlias = Mapping[str, tuple[BuildRecord, Path]]
"""Variant to its build record and its library (any path, where it did not compile)."""


def as_recorded(build: BuildRecord, path: Path) -> FileDigest:
    """Return the artifact of ``build`` at ``path``. Raises CheckFailed for another file."""
    if build.artifact is None or sha256_file(path) != build.artifact.sha256:
        raise CheckFailed(f"{path}: is not the file that the build record of {build.id} names")
    return build.artifact


def told_to_device(build: BuildRecord, path: Path) -> ArtifactSpec:
    """Return the artifact as a job names it; raises as ``as_recorded``."""
    return ArtifactSpec(str(path.resolve()), as_recorded(build, path).sha256)


def offered(catalog: Catalog, target: str) -> tuple[OperatorKernel, ...]:
    """Return what the operators may call: what kernel.yaml lists, then what tuning chose."""
    arch = catalog.targets[target].arch
    listed = [e for e in catalog.operators if is_for(catalog.variants[e.variant].archs, arch)]
    names, added = {entry.variant for entry in listed}, dict[str, OperatorKernel]()
    for choice in catalog.tuning.of(target):
        if choice.variant not in names:
            arms = {arm.id: arm for arm in catalog.comparisons[choice.evidence.comparison].arms}
            of_b = catalog.workloads[arms[choice.evidence.arm].workload].pattern_b
            added[choice.variant] = OperatorKernel(
                variant=choice.variant,
                dtype=choice.dtype,
                block=(choice.block_rows, choice.block_cols),
                block_b=None if of_b is None else (of_b.block_rows, of_b.block_cols),
            )
    return (*listed, *added.values())


def kernel_entries(catalog: Catalog, target: str, builds: Builds) -> tuple[KernelEntry, ...]:
    """Return an entry for each offered kernel that was built. Raises as ``as_recorded``."""
    entries = []
    for named in offered(catalog, target):
        record, path = builds.get(named.variant, (None, Path()))
        if record is None or record.artifact is None:
            continue
        artifact = as_recorded(record, path)
        variant = catalog.variants[named.variant]
        assert variant.symbol is not None
        entries.append(
            KernelEntry(
                **dict(named),
                operation=variant.operation,
                arch=catalog.targets[target].arch,
                symbol=variant.symbol,
                path=artifact.path,
                sha256=artifact.sha256,
            )
        )
    return tuple(entries)

"""Records of the catalog as the device side is told of them: a function a type.

What the device side has no use for (titles, sources, datasheet peaks) is left out, so that a change
of it measures nothing again.
"""

from dataclasses import MISSING, fields
from enum import Enum
from typing import Any, TypeVar

from assay.building.artifacts import Builds, told_to_device
from assay.catalog.model import Catalog
from assay.records.base import Record
from assay.records.kernels import OperatorKernel, Variant
from assay.records.targets import Target
from assay.records.workloads import Pattern, Protocol, Workload
from assay.shared.specs import (
    ArmSpec,
    ArtifactSpec,
    CodeSpec,
    ComparisonSpec,
    OperatorSpec,
    PatternSpec,
    ProtocolSpec,
    TargetSpec,
    VariantSpec,
    WorkloadSpec,
)

S = TypeVar("S")


def target_spec(target: Target) -> TargetSpec:
    """Return the GPU that is asked for."""
    return _spec(TargetSpec, target)


GATES_OWN = ("logit_scale", "poison_unselected")
"""Fields of a problem that no workload of a catalog has: the gate's further shapes set them."""


def pattern_spec(pattern: Pattern | None) -> PatternSpec | None:
    """Return which blocks are stored; None where all are."""
    return None if pattern is None else _spec(PatternSpec, pattern)


def workload_spec(workload: Workload) -> WorkloadSpec:
    """Return a problem; a dimension that its operation does not have is 0."""
    patterns = (pattern_spec(workload.pattern), pattern_spec(workload.pattern_b))
    gates_own = {name: WorkloadSpec.__dataclass_fields__[name].default for name in GATES_OWN}
    code = None if workload.code is None else _spec(CodeSpec, workload.code)
    return _spec(
        WorkloadSpec, workload, pattern=patterns[0], pattern_b=patterns[1], code=code, **gates_own
    )


def variant_spec(variant: Variant) -> VariantSpec:
    """Return what it takes to call a variant."""
    return _spec(VariantSpec, variant)


def protocol_spec(protocol: Protocol) -> ProtocolSpec:
    """Return how samples are taken."""
    return _spec(ProtocolSpec, protocol)


def operator_spec(
    kernel: OperatorKernel, variant: Variant, arch: str, artifact: ArtifactSpec
) -> OperatorSpec:
    """Return a compiled kernel behind an operator."""
    return _spec(
        OperatorSpec,
        kernel,
        operation=variant.operation.value,
        arch=arch,
        symbol=variant.symbol,
        artifact=artifact,
    )


def arm_spec(catalog: Catalog, name: str, variant: str, workload: str, builds: Builds) -> ArmSpec:
    """Return an arm with its artifact, where ``builds`` has one.

    Raises CheckFailed for a binary that is not the one its build record names.
    """
    build, path = builds.get(variant, (None, None))
    compiled = build is not None and build.artifact is not None
    return ArmSpec(
        name,
        variant_spec(catalog.variants[variant]),
        workload_spec(catalog.workloads[workload]),
        told_to_device(build, path) if compiled and build and path else None,
    )


def comparison_spec(catalog: Catalog, name: str, builds: Builds) -> ComparisonSpec:
    """Return a comparison with all that its arms need; raises as ``arm_spec``."""
    comparison = catalog.comparisons[name]
    return ComparisonSpec(
        comparison.id,
        comparison.control,
        tuple(
            arm_spec(catalog, arm.id, arm.variant, arm.workload, builds) for arm in comparison.arms
        ),
    )


def _spec(kind: type[S], record: Record, **given: Any) -> S:
    """Return the fields of ``kind`` as a record has them, its None being the field's default."""
    values = dict(given)
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in given:
            continue
        value = getattr(record, field.name)
        if value is None and field.default is not MISSING:
            value = field.default
        values[field.name] = value.value if isinstance(value, Enum) else value
    return kind(**values)

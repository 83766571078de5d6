"""Records of the catalog as the device side is told of them: a function a type.

What the device side has no use for (titles, sources, datasheet peaks) is left out, so that a change
of it measures nothing again.
"""

from assay.building.artifacts import Builds, told_to_device
from assay.catalog.model import Catalog
from assay.records.kernels import OperatorKernel, Variant
from assay.records.targets import Target
from assay.records.workload_specs import as_spec, workload_spec
from assay.records.workloads import Protocol
from assay.shared.specs import (
    ArmSpec,
    ArtifactSpec,
    ComparisonSpec,
    OperatorSpec,
    ProtocolSpec,
    TargetSpec,
    VariantSpec,
)


def target_spec(target: Target) -> TargetSpec:
    """Return the GPU that is asked for."""
    return as_spec(TargetSpec, target)


def variant_spec(variant: Variant) -> VariantSpec:
    """Return what it takes to call a variant."""
    return as_spec(VariantSpec, variant)


def protocol_spec(protocol: Protocol) -> ProtocolSpec:
    """Return how samples are taken."""
    return as_spec(ProtocolSpec, protocol)


def operator_spec(
    kernel: OperatorKernel, variant: Variant, arch: str, artifact: ArtifactSpec
) -> OperatorSpec:
    """Return a compiled kernel behind an operator."""
    return as_spec(
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

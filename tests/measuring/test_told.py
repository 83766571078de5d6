"""Of the catalog's records, the device side is told every field but those named here."""

from dataclasses import fields

import pytest

from assay.catalog.load import load_catalog
from assay.measuring.told import (
    comparison_spec,
    operator_spec,
    protocol_spec,
    target_spec,
    variant_spec,
)
from assay.records.base import Record
from assay.records.kernels import OperatorKernel, Variant
from assay.records.targets import Target
from assay.records.workload_specs import GATES_OWN, workload_spec
from assay.records.workloads import Arm, Comparison, Pattern, Protocol, Workload
from assay.shared.specs import (
    ArmSpec,
    ArtifactSpec,
    ComparisonSpec,
    OperatorSpec,
    PatternSpec,
    ProtocolSpec,
    TargetSpec,
    VariantSpec,
    WorkloadSpec,
)
from assay.shared.strict_json import plain, read
from tests.report_fixtures import REPOSITORY

CATALOG = load_catalog(REPOSITORY)


@pytest.mark.parametrize(
    ("record", "spec", "kept_back", "added"),
    [
        (Workload, WorkloadSpec, set(), {*GATES_OWN}),
        (Pattern, PatternSpec, set(), set()),
        (Protocol, ProtocolSpec, set(), set()),
        # What may be said of an arm's time does not change how it is taken.
        (Arm, ArmSpec, {"reading_only"}, {"artifact"}),
        # The protocol and the profiled arms are told to the jobs that need them.
        (Comparison, ComparisonSpec, {"title", "protocol", "profile"}, set()),
        # How a kernel is compiled is in its artifact.
        (Variant, VariantSpec,
         {"title", "source", "archs", "defines", "flags", "artifact", "built_from", "rival",
          "package"}, set()),
        (OperatorKernel, OperatorSpec, set(), {"operation", "arch", "symbol", "artifact"}),
        # What the scheduler, the builds and the report look at.
        (Target, TargetSpec,
         {"schema_", "product", "arch", "compute_capability", "gpu_model", "slurm_partition",
          "multiprocessors", "l2_bytes", "max_shared_bytes_per_block", "power_limit_w", "peaks"},
         set()),
    ],
)  # fmt: skip
def test_no_field_is_forgotten(
    record: type[Record], spec: type, kept_back: set[str], added: set[str]
) -> None:
    told = {field.name for field in fields(spec)}
    assert told - added == set(record.model_fields) - kept_back


@pytest.mark.parametrize("name", CATALOG.workloads)
def test_a_problem_is_told_as_it_is(name: str) -> None:
    workload = CATALOG.workloads[name]
    spec = workload_spec(workload)
    told = {key: value for key, value in plain(spec).items() if value not in (0, None)}
    assert [told.pop(name, None) for name in GATES_OWN] == [1.0, None]
    given = workload.model_dump(mode="json")
    assert told == {key: value for key, value in given.items() if value not in (0, None)}
    assert read(WorkloadSpec, plain(spec)) == spec


def test_every_record_of_the_catalog_is_one_that_the_device_side_reads() -> None:
    specs = [
        *map(variant_spec, CATALOG.variants.values()),
        *map(protocol_spec, CATALOG.protocols.values()),
        *map(target_spec, CATALOG.targets.values()),
        *(comparison_spec(CATALOG, name, {}) for name in CATALOG.comparisons),
        *(
            operator_spec(
                kernel, CATALOG.variants[kernel.variant], "sm_90a", ArtifactSpec("k", "0")
            )
            for kernel in CATALOG.operators
        ),
    ]
    for spec in specs:
        assert read(type(spec), plain(spec)) == spec


def test_what_is_not_set_is_told_by_its_default() -> None:
    protocol = next(iter(CATALOG.protocols.values()))
    unset = protocol.model_copy(update={"turn_min_ms": None})
    assert protocol_spec(unset).turn_min_ms == 0.0

"""Problems of the catalog as the device side is told of them, and as their facts follow from."""

from dataclasses import MISSING, fields
from enum import Enum
from typing import Any, TypeVar

from assay.records.base import Record
from assay.records.workloads import Workload
from assay.shared.specs import WorkloadSpec

S = TypeVar("S")
GATES_OWN = ("logit_scale", "poison_unselected")
"""Fields of a problem that no workload of a catalog has: the gate's further shapes set them."""


def workload_spec(workload: Workload) -> WorkloadSpec:
    """Return a problem; a dimension that its operation does not have is 0."""
    gates_own = {name: WorkloadSpec.__dataclass_fields__[name].default for name in GATES_OWN}
    return as_spec(WorkloadSpec, workload, **gates_own)


def as_spec(kind: type[S], record: Record, **given: Any) -> S:
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

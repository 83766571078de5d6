"""What a run did once, for no target: builds and looks into files have their records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.evidence.model import Evidence
from assay.records.claims import ClaimKind
from assay.records.evaluations import Inspection, Support
from assay.records.plan import Answer, BuildJob
from assay.records.units import Unit
from assay.verification.completeness import _missing
from tests import builders as b

NO_FIGURE: dict[str, Any] = {
    "kind": ClaimKind.SUPPORT, "value": None, "unit": None, "resolution": None,
}  # fmt: skip
COMPILES = b.claim(
    "compiles", Support(kind="support", probe="ex88", arch="sm_90a", expect="builds"), **NO_FIGURE
)
LINES = b.claim(
    "lines",
    Inspection(kind="inspection", package="nvidia-cutlass", path="a.hpp", quantity="lines"),
    unit=Unit.LINES,
)
JOB = BuildJob(id="ex88", kind="program", arch="sm_90a")


def evidence(builds: Sequence[BuildJob]) -> Evidence:
    answers = [
        Answer(claim=claim.id, target=None, way="compute", reason=None, detail="")
        for claim in (COMPILES, LINES)
    ]
    made = b.evidence(answers)
    return replace(made, plan=made.plan.model_copy(update={"builds": tuple(builds)}))


def test_builds_and_inspections_have_their_records() -> None:
    catalog, bare = b.catalog([COMPILES, LINES]), evidence([JOB])
    missing = [("record-missing", "builds/sm_90a/ex88.json"),
               ("record-missing", "inspections.json of lines")]  # fmt: skip
    assert list(_missing(catalog, bare)) == missing
    inspections: Any = {LINES.id: object()}
    builds: Any = {("ex88", "sm_90a"): object()}
    assert list(_missing(catalog, replace(bare, inspections=inspections, builds=builds))) == []

"""What a run did once, for no target: builds and looks into files have their records."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from assay.evidence.model import Evidence
from assay.records.claims import ClaimKind
from assay.records.evaluations import Inspection, Support
from assay.records.plan import Answer, BuildJob
from assay.records.units import Unit
from assay.verification.completeness import _check_run_records
from assay.verification.contradictions import Findings
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


def codes(check: Any, *arguments: Any) -> list[str]:
    findings = Findings()
    check(*arguments, findings)
    return [each.code for each in findings.contradictions]


def test_builds_and_inspections_have_their_records() -> None:
    catalog, bare = b.catalog([COMPILES, LINES]), evidence([JOB])
    assert codes(_check_run_records, catalog, bare) == ["record-missing", "record-missing"]
    for path, wrong in (("a.hpp", []), ("b.hpp", ["misfiled"])):
        found = SimpleNamespace(package="nvidia-cutlass", path=path, text=None)
        inspections: Any = {LINES.id: found}
        builds: Any = {("ex88", "sm_90a"): object()}
        looked = replace(bare, inspections=inspections, builds=builds)
        assert codes(_check_run_records, catalog, looked) == wrong

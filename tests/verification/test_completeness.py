"""What a run did once, for no target: builds and looks into files have their records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from assay.base.check_log import CheckUnderWay
from assay.evidence.model import Evidence
from assay.records.claims import ClaimKind
from assay.records.evaluations import Inspection, Support
from assay.records.measurements import BenchmarkRecord
from assay.records.plan import Answer, BuildJob
from assay.records.units import Unit
from assay.verification.completeness import _check_counts, _missing
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


LOOKS = (3, 5, 8)


def looked(count: int, looks: tuple[int, ...] = LOOKS) -> BenchmarkRecord:
    return b.benchmark(processes=count).model_copy(update={"looks": looks})


SOME = tuple(p for p in b.benchmark(processes=8).processes if p.index not in (1, 2, 3))


@pytest.mark.parametrize(
    ("record", "kind", "codes"),
    [
        *((looked(count), "device", []) for count in LOOKS),
        *((looked(count, (3, 5, 8, 12)), "device", ["protocol"]) for count in LOOKS),
        (looked(4), "device", ["processes"]),
        (looked(5).model_copy(update={"processes": SOME}), "device", ["processes"]),
        # Only what is taken over had no looks: its intervals are narrower, for further ones.
        (b.benchmark(processes=8), "device", ["protocol"]),
        (b.benchmark(processes=5), "recorded", []),
        (b.benchmark(processes=3), "recorded", ["processes"]),
    ],
)
def test_a_comparison_has_the_first_processes_of_a_look(record, kind, codes):
    catalog = b.catalog(protocols={"standard": b.protocol(processes=LOOKS)})
    made = b.evidence([], benchmarks=[record], kinds={"h100": kind})
    _check_counts(catalog, made, says := CheckUnderWay())
    assert [code for code, _ in says.refusals] == codes

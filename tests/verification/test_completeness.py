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


def refused(
    record: BenchmarkRecord, looks: tuple[int, ...] = LOOKS, kind: str = "device"
) -> list[str]:
    """Codes of what is refused where a comparison's protocol is a sequential design."""
    catalog = b.catalog(protocols={"standard": b.protocol(processes=looks)})
    made = b.evidence([], benchmarks=[record], kinds={"h100": kind})
    _check_counts(catalog, made, says := CheckUnderWay())
    return [code for code, _ in says.refusals]


@pytest.mark.parametrize("count", LOOKS)
def test_a_comparison_has_the_processes_of_a_look(count: int) -> None:
    record = b.benchmark(processes=count).model_copy(update={"looks": LOOKS})
    assert refused(record) == []
    assert refused(record, looks=(3, 5, 8, 12)) == ["protocol"]


def test_between_looks_there_is_none() -> None:
    assert refused(b.benchmark(processes=4).model_copy(update={"looks": LOOKS})) == ["processes"]


def test_only_what_is_taken_over_had_no_looks() -> None:
    """Its intervals are narrower: nobody allows for further looks."""
    assert refused(b.benchmark(processes=8)) == ["protocol"]
    assert refused(b.benchmark(processes=5), kind="recorded") == []
    assert refused(b.benchmark(processes=3), kind="recorded") == ["processes"]


def test_processes_are_the_first_ones() -> None:
    record = b.benchmark(processes=5).model_copy(update={"looks": LOOKS})
    chosen = tuple(p for p in b.benchmark(processes=8).processes if p.index not in (1, 2, 3))
    assert refused(record.model_copy(update={"processes": chosen})) == ["processes"]

"""Rooflines of the report: one for each tensor peak that something was measured against."""

import pytest

from assay.records.measurements import BenchmarkRecord
from assay.records.workloads import Arm, Comparison
from assay.report.figures.rooflines import rooflines
from tests import builders as b


def measured(*dtypes: str) -> tuple[str, ...]:
    """Captions for a comparison with one dense arm of each type."""
    dense = b.workloads()["dense"]
    workloads = {name: dense.model_copy(update={"id": name, "dtype": name}) for name in dtypes}
    comparison = Comparison(
        id="types",
        title="Types",
        protocol="standard",
        arms=tuple(Arm(id=name, variant="cublas", workload=name) for name in dtypes),
        control=dtypes[0],
    )
    facts = {
        name: b.facts("rival").model_copy(update={"arm": name, "workload": name}) for name in dtypes
    }
    record: BenchmarkRecord = b.benchmark(
        dict.fromkeys(dtypes, 0.2), comparison="types", control=dtypes[0], arm_facts=facts
    )
    catalog = b.catalog(comparisons={"types": comparison}, workloads=workloads)
    pictures = list(rooflines(catalog, b.evidence([], benchmarks=[record])))
    for picture in pictures:
        assert "TFLOP/s" in picture["svg"]
    return tuple(picture["caption"] for picture in pictures)


@pytest.mark.parametrize(
    ("dtypes", "pictures", "variants"),
    [
        (("float16", "bfloat16"), 1, "every variant"),
        (("float16", "float8_e4m3"), 2, "every FP8 variant"),
    ],
)
def test_types_of_one_peak_share_a_picture(dtypes, pictures, variants):
    captions = measured(*dtypes)
    assert len(captions) == pictures
    assert f"the fastest measurement of {variants}" in captions[-1]


def test_nothing_measured_gives_none() -> None:
    catalog = b.catalog()
    assert not list(rooflines(catalog, b.evidence([])))

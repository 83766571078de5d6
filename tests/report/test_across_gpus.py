"""What several GPUs gave, side by side, and how many times as fast one is as another."""

from collections.abc import Sequence
from typing import Any

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.records.verdicts import Verdict, VerdictsFile
from assay.report import formatting as fmt
from assay.report.card_spread import across_gpus
from tests.report.newest import newest_report

HALF_AGAIN = (fmt.quantity(1.5, "ratio"), "[1.227, 1.833]")
RATE, TIME, RATIO = "s002_final", "s001_realistic_latency", "s000_gap"


@pytest.fixture(scope="module")
def report() -> tuple[Catalog, Evidence, Verdict]:
    """One verdict with a figure is enough: others are made of it."""
    newest = newest_report()
    folder = newest / "evidence"
    rows = read_record(VerdictsFile, newest / "verdicts.json").verdicts
    row = next(row for row in rows if row.claim == RATE and row.target == "h100")
    return load_catalog(folder), load_evidence(folder), row


class Line:
    """What the table asks of a claim's line."""

    title, claimed = "A title", "607 TFLOP/s"


def table(report: tuple[Catalog, Evidence, Verdict], rows: Sequence[dict[str, Any]]) -> Any:
    catalog, evidence, row = report
    verdicts = [row.model_copy(update=changes) for changes in rows]
    lines: Any = dict.fromkeys((RATE, TIME, RATIO), Line)
    return across_gpus(catalog, evidence, verdicts, lines)


def on(claim: str, target: str, measured: float, **changes: Any) -> dict[str, Any]:
    return {
        "claim": claim, "target": target, "measured": measured,
        "ci90": (0.9 * measured, 1.1 * measured), **changes,
    }  # fmt: skip


def test_rates_have_a_ratio_and_their_share_of_each_bound(report: Any) -> None:
    first = on(RATE, "h100", 100.0, roofline_fraction=0.5)
    found = table(report, [first, on(RATE, "h200", 150.0, roofline_fraction=0.25)])
    assert found["gpus"] == ["NVIDIA H100 80GB HBM3 (SXM5)", "NVIDIA H200 (SXM5)"]
    assert found["ratios"] == [f"{found['gpus'][1]} over {found['gpus'][0]}"]
    ((_, cells, ratios),) = found["rows"]
    assert [roof for *_, roof in cells] == [
        f"{fmt.percent(share)} of its bound" for share in (0.5, 0.25)
    ]
    assert ratios == [HALF_AGAIN]


def test_of_times_the_shorter_is_as_many_times_as_fast(report: Any) -> None:
    there = {"unit": "ms", "roofline_fraction": None}
    found = table(report, [on(TIME, "h100", 3.0, **there), on(TIME, "h200", 2.0, **there)])
    ((_, cells, ratios),) = found["rows"]
    assert ratios == [HALF_AGAIN]
    assert cells[0][2] is None


def test_a_ratio_of_kernels_is_no_speed(report: Any) -> None:
    there = {"unit": "ratio"}
    found = table(report, [on(RATIO, "h100", 2.0, **there), on(RATIO, "h200", 3.0, **there)])
    ((_, cells, ratios),) = found["rows"]
    assert [ratio for ratio, _ in ratios] == [fmt.NOTHING]
    assert [roof for *_, roof in cells] == [None, None]

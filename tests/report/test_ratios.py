"""A figure stands to the right of its claim where it is better by what the claim says."""

from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.model import Catalog
from assay.records.verdicts import Status, Verdict, VerdictsFile
from assay.report.verdict_text import toward_better


@pytest.fixture(scope="module")
def row(full_report: Path) -> Verdict:
    return read_record(VerdictsFile, full_report / "verdicts.json").verdicts[0]


def said(row: Verdict, catalog: Catalog, claim: str, measured: float) -> Verdict:
    """Return a verdict on a claim that measured so much."""
    entry = catalog.claims[claim]
    return row.model_copy(
        update={
            "claim": claim,
            "source": catalog.source_of[claim],
            "claimed": entry.value,
            "unit": entry.unit.value,
            "relation": entry.relation.value,
            "measured": measured * entry.value,
            "ci90": (0.8 * measured * entry.value, 1.6 * measured * entry.value),
        }
    )


@pytest.mark.parametrize(
    ("claim", "more_is_better"),
    [
        ("s002_final", True),
        ("s002_speedup_final", True),
        ("s000_phase2_gain", True),
        ("s002_gap_baseline", False),
        ("s002_gap_phase2", False),
        ("s000_gap", False),
        ("s001_gap", False),
        ("s004_speedup", True),
        ("s004_sdpa_time", False),
        ("s001_realistic_latency", False),
        ("s001_still_slower", False),
    ],
)
def test_better_is_more_than_one(row, catalog, claim, more_is_better):
    """A rival's lead over the own kernel, a time and what is at most so much are better lower; one
    that is a rival's time over the own one is not.
    """
    ratio = toward_better(catalog, said(row, catalog, claim, 0.5))
    value, low, high = (0.5, 0.4, 0.8) if more_is_better else (2.0, 1.25, 2.5)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((value, low, high))


@pytest.mark.parametrize(
    ("status", "stands"), [(Status.EXCEEDED, 2 * 1.5 / 1.8), (Status.INCONCLUSIVE, 2)]
)
def test_what_exceeds_a_range_is_held_against_its_upper_end(row, catalog, status, stands):
    range_ = said(row, catalog, "s000_phase1_range_gain", 2.0)
    ratio = toward_better(catalog, range_.model_copy(update={"status": status, "as_if": None}))
    assert ratio is not None and ratio.value == pytest.approx(stands)

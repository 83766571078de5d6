"""The table of Nsight Compute, from what the published profiles hold."""

from pathlib import Path
from typing import Any

import pytest

from assay.evidence.load import load_evidence
from assay.report.measurements import COLUMNS, profile_rows
from assay.verification.report_archive import opened_report

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], Any]:
    with opened_report(PUBLISHED / "h100_20261121_settled.tar.xz") as report:
        found = list(profile_rows(load_evidence(report / "evidence")))
    return {(row["comparison"], row["arm"]): row for row in found}


def test_what_a_record_does_not_lift_out_is_read_off_its_raw_page(
    rows: dict[tuple[str, str], Any],
) -> None:
    """These records were made when another metric stood for the tensor pipe."""
    titles = [title for _, title in COLUMNS]
    cublas = rows["bsr_gemm_128", "cublas"]["cells"]
    assert cublas[titles.index("tensor pipe")] == "93.35\N{NO-BREAK SPACE}%"
    assert cublas[titles.index("L2")] == "53.30\N{NO-BREAK SPACE}%"
    assert cublas[titles.index("clock")] == "1474\N{NO-BREAK SPACE}MHz"

"""run_figures: what a run's last lines say of its claims."""

from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.cli.run_figures import MOST_CLAIMS, tell_figures
from assay.evidence.load import load_evidence
from assay.records.attestation import VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.verification.report_archive import opened_report

ROOT = Path(__file__).resolve().parents[2]


def test_claims_that_are_not_shown_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Else the seventh of seven would look as if it had no verdict."""
    with opened_report(ROOT / "reports/published/l4_on_h200_20261128.tar.xz") as folder:
        verdicts = read_record(VerdictsFile, folder / VERDICTS).verdicts
        catalog = load_catalog(folder / "evidence")
        tell_figures(catalog, load_evidence(folder / "evidence"), verdicts)
    lines = "".join(capsys.readouterr()).splitlines()
    assert sum("claimed runs" in line for line in lines) == MOST_CLAIMS == len(verdicts) - 1
    assert lines[-1].strip() == "1 more claim or audit: the report has all"

"""The projects of this repository publish what verifies, and their READMEs tell what it says."""

from pathlib import Path

import pytest
from tools.project_results import archives, project_tables, replaced

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.judging import RULES
from assay.records.attestation import VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.verification.made_again import OtherVersion
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trusted_keys import trusted_keys
from assay.verification.verify import verify

ROOT = Path(__file__).resolve().parents[2]
ARCHIVES = archives(ROOT)


def test_every_project_publishes_evidence() -> None:
    folders = {path.parent for path in ROOT.glob("projects/*/assay.yaml")}
    assert {path.parents[2] for path in ARCHIVES} == folders
    assert len(ARCHIVES) == 4


@pytest.mark.parametrize("archive", ARCHIVES, ids=report_name)
def test_it_is_intact_and_of_the_project_as_it_stands_where_its_rules_are_todays(
    archive: Path,
) -> None:
    """One of earlier rules is of the project as it stood when it was judged."""
    with opened_report(archive) as report:
        signed = load_catalog(report / "evidence").project
        rules = read_record(VerdictsFile, report / VERDICTS).rules
        if rules != RULES:
            with pytest.raises(OtherVersion):
                verify(report, trusted_keys(ROOT), repository=ROOT)
            return
        assert verify(report, trusted_keys(ROOT), repository=ROOT).holds
    ours = load_catalog(ROOT, archive.parents[2]).project
    assert signed is not None
    assert ours is not None
    assert signed.sha256 == ours.sha256


@pytest.mark.parametrize(
    ("path", "table"), project_tables(ROOT).items(), ids=lambda one: str(one)[-40:]
)
def test_the_readmes_tell_what_it_says(path: Path, table: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert replaced(text, table, path) == text

"""Honest mistakes are remarked on, and fail nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.verification.remarks import remarks
from assay.verification.verify import verify
from tests.report_fixtures import WHEN, signed_report, write_repository

MEASURED = datetime.fromisoformat(WHEN)
CREATED = "2026-01-02T04:00:00Z"
NOW = MEASURED + timedelta(days=30)


@pytest.fixture
def read(report: Path) -> tuple[Catalog, Evidence]:
    folder = report / "evidence"
    return load_catalog(folder), load_evidence(folder)


def test_an_honest_report_has_none(read: tuple[Catalog, Evidence]) -> None:
    assert list(remarks(*read, CREATED, NOW)) == []


@pytest.mark.parametrize(
    ("member", "value"), [("memory_bytes", 150754820096), ("l2_bytes", 62914560)]
)
def test_the_gpu_of_another_product(read, member, value):
    """What an H200 has, filed as an H100."""
    catalog, evidence = read
    device = evidence.platforms["h100"].device
    other = device.model_copy(update={"gpu": device.gpu.model_copy(update={member: value})})
    evidence.platforms["h100"] = evidence.platforms["h100"].model_copy(update={"device": other})
    (told,) = remarks(catalog, evidence, CREATED, NOW)
    assert told.startswith("h100: ")


@pytest.mark.parametrize(
    ("created", "word"), [("2026-01-02T02:00:00Z", "later"), ("2027-01-02T03:00:00Z", "future")]
)
def test_a_report_before_its_records_or_in_the_future(read, created, word):
    (told,) = remarks(*read, created, NOW)
    assert word in told


def test_verifying_notes_them_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    early = MEASURED.astimezone(UTC) - timedelta(days=1)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(early.timestamp())))
    report = signed_report(write_repository(tmp_path / "repo"))
    result = verify(report, [tmp_path / "key.pub"])
    assert result.holds
    assert [note for note in result.notes if "later" in note]

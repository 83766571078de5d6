"""A run ends with the claims that say most: claimed, measured, and the verdict."""

from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli.run_figures import MOST_CLAIMS, claim_words, telling
from assay.records.verdicts import Verdict, VerdictsFile
from assay.verification.trust import published_reports

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture(scope="module")
def verdicts() -> tuple[Verdict, ...]:
    """Those of the newest published report, which is a directory."""
    return read_record(VerdictsFile, published_reports(ROOT)[0] / "verdicts.json").verdicts


def test_of_many_the_leading_few_are_told(catalog: Catalog, verdicts: tuple[Verdict, ...]) -> None:
    told = telling(catalog, verdicts)
    assert len({verdict.claim for verdict in told}) == len(told) == MOST_CLAIMS
    assert told[0].status.word == "misstated"
    assert all(verdict.measured is not None for verdict in told)


def test_a_claim_says_what_was_measured_where(
    catalog: Catalog, verdicts: tuple[Verdict, ...]
) -> None:
    words = {
        verdict.claim: claim_words(catalog, verdict).replace("\N{NO-BREAK SPACE}", " ")
        for verdict in telling(catalog, verdicts)
    }
    assert words["s000_fmha_8k"] == (
        "s000_fmha_8k: claimed 600 TFLOP/s, measured 457.4 TFLOP/s on h100: misstated "
        "(another problem ran)"
    )

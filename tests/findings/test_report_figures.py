"""What a report's figures are compared by: the digest of what was asked."""

from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import read_contents
from assay.findings.report_figures import UNREAD, report_figures


@pytest.fixture(scope="module")
def catalog(full_report: Path) -> Catalog:
    return load_catalog(full_report / "evidence")


def test_figures_are_counted_as_the_headline_counts_them(full_report: Path) -> None:
    of = read_contents(full_report)
    made = report_figures(
        of.catalog, of.evidence, of.verdicts,
        commit=None, created=None, manifest_sha256=UNREAD,
    )  # fmt: skip
    published = {claim for claim, said in made.claims.items() if said.kind == "figures"}
    rows = [each for each in made.figures if each.claim in published]
    numbers = {each.counted_as for each in rows} - {None}
    assert len(numbers) == made.counts["figures"].total

"""What a report's figures are compared by: the digest of what was asked."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.report_contents import read_contents
from assay.findings.report_figures import UNWRITTEN, question_of, report_figures
from assay.records.workloads import Workload
from tests.report.told import told_report


class LaterWorkload(Workload):
    """A workload of later code, with a field that older files do not have."""

    added: str = "as before"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return told_report(tmp_path_factory.mktemp("questions") / "repo")


@pytest.fixture(scope="module")
def catalog(report: Path) -> Catalog:
    return load_catalog(report / "evidence")


def with_workloads(catalog: Catalog, **changes: object) -> Catalog:
    """``catalog`` with its workloads as later code reads them."""
    later = {
        name: LaterWorkload.model_validate({**workload.model_dump(), **changes})
        for name, workload in catalog.workloads.items()
    }
    return replace(catalog, workloads=later)


def test_a_field_that_later_code_adds_asks_nothing_else(catalog: Catalog) -> None:
    """Or what other reports measured would be figures of another question ever after."""
    asked = question_of(catalog, "demo_rate")
    assert asked is not None
    assert question_of(with_workloads(catalog), "demo_rate") == asked
    assert question_of(with_workloads(catalog, added="other"), "demo_rate") != asked
    assert question_of(with_workloads(catalog, seed=99), "demo_rate") != asked


def test_figures_are_counted_as_the_headline_counts_them(report: Path) -> None:
    of = read_contents(report)
    made = report_figures(
        of.catalog, of.evidence, of.verdicts,
        commit=None, created=None, manifest_sha256=UNWRITTEN,
    )  # fmt: skip
    published = {claim for claim, said in made.claims.items() if said.kind == "figures"}
    rows = [each for each in made.figures if each.claim in published]
    assert made.headline is not None
    numbers = {each.counted_as for each in rows} - {None}
    assert len(numbers) == sum(made.headline.statuses.values())

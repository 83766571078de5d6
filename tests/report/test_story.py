"""Findings that people wrote: figures from verdicts, and no sentence that does not hold."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.records.verdicts import Verdict, VerdictsFile
from assay.report.story import story
from tests.library_checkout import add_to_claims
from tests.report_fixtures import write_repository, write_run

CLAIMS = Path("config/claims/demo.yaml")
FINDING = """
findings:
  - says: 'It claims {demo_rate:claimed}; the {demo_rate:gpu} gives {demo_rate}.'
    when: {demo_rate: [STATUS]}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


def verdicts_of(root: Path) -> tuple[Verdict, ...]:
    return read_record(VerdictsFile, write_run(root) / "verdicts.json").verdicts


def add(root: Path, finding: str) -> None:
    add_to_claims(root / CLAIMS, "", finding)


def test_figures_come_from_the_verdict(root: Path) -> None:
    every = verdicts_of(root)
    lead = next(row for row in every if row.claim == "demo_rate" and row.target == "h100")
    add(root, FINDING.replace("STATUS", lead.status.value))
    (sentence,) = story(load_catalog(root), every)
    assert sentence.text == f"It claims 200; the H100 gives {lead.measured:.0f}."
    assert sentence.rests_on == "demo_rate"


def test_a_figure_may_be_of_a_gpu_that_is_named(root: Path) -> None:
    lead = next(row for row in verdicts_of(root) if row.claim == "demo_rate")
    other = lead.model_copy(update={"target": "l4", "measured": 12.0})
    add(root, FINDING.replace("STATUS", lead.status.value))
    catalog = load_catalog(root)
    file = catalog.sources["demo"]
    (finding,) = file.findings
    told = finding.model_copy(update={"says": "It gives {demo_rate@l4} elsewhere."})
    catalog.sources["demo"] = file.model_copy(update={"findings": (told,)})
    assert [each.text for each in story(catalog, (lead, other))] == ["It gives 12 elsewhere."]
    add(root, FINDING.replace("{demo_rate}", "{demo_rate@l5}"))
    with pytest.raises(BadInput):
        load_catalog(root)


def test_a_figure_of_a_claim_that_it_does_not_rest_on_is_refused(root: Path) -> None:
    add(
        root,
        FINDING.replace("when: {demo_rate:", "when: {demo_ratio:").replace("STATUS", "reproduced"),
    )
    with pytest.raises(BadInput, match="demo_rate"):
        load_catalog(root)

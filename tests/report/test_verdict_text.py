"""A verdict in short: one number is told one way."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.findings.headline import outcomes
from assay.records.verdicts import Verdict, VerdictsFile
from assay.report.claims import claim_lines
from assay.report.verdict_text import claimed_text, verdict_text
from tests import builders as b
from tests.report.told import told_report


@pytest.fixture(scope="module")
def ratio(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, Verdict]:
    report: Path = told_report(tmp_path_factory.mktemp("text") / "repo")
    verdicts = read_record(VerdictsFile, report / "verdicts.json").verdicts
    (row,) = (verdict for verdict in verdicts if verdict.claim == "demo_ratio")
    return load_catalog(report / "evidence"), row


@pytest.mark.parametrize(
    ("claimed", "measured", "told"),
    [
        (1.0, 1.592, ("1.592\N{MULTIPLICATION SIGN}", "1.592\N{MULTIPLICATION SIGN}")),
        (2.0, 1.592, ("1.592\N{MULTIPLICATION SIGN}", "0.80\N{MULTIPLICATION SIGN}")),
    ],
)
def test_a_ratio_claimed_to_be_one_and_its_factor_are_one_number(
    ratio: tuple[Catalog, Verdict], claimed: float, measured: float, told: tuple[str, str]
) -> None:
    catalog, row = ratio
    changes = {"claimed": claimed, "measured": measured, "ci90": (measured, measured)}
    text = verdict_text(catalog, row.model_copy(update=changes))
    assert (text.measured, text.factor) == told


@pytest.mark.parametrize(
    ("measured", "told"),
    [(1.592, "1.592\N{MULTIPLICATION SIGN} above"), (0.641, "0.6410\N{MULTIPLICATION SIGN} below")],
)
def test_what_is_said_to_be_the_same_is_above_or_below_and_not_ahead(
    ratio: tuple[Catalog, Verdict], measured: float, told: str
) -> None:
    catalog, row = ratio
    changes = {"claimed": 1.0, "measured": measured, "ci90": (measured, measured)}
    alike = row.model_copy(update={**changes, "relation": "same"})
    assert verdict_text(catalog, alike).factor == told


def test_a_figure_that_the_source_does_not_print_is_marked_and_says_what_it_follows_from(
    ratio: tuple[Catalog, Verdict],
) -> None:
    catalog, row = ratio
    claim = catalog.claims[row.claim]
    computed = claim.model_copy(update={"computed": "twice the 989 TFLOP/s of line 308"})
    marked = replace(catalog, claims={**catalog.claims, claim.id: computed})
    assert claimed_text(marked, row) == f"{claimed_text(catalog, row)} (computed)"
    says = "The source does not print this figure: it is twice the 989 TFLOP/s of line 308."
    for known, noted in ((catalog, False), (marked, True)):
        line = claim_lines(known, b.evidence([]), [row], outcomes(known, [row]), "run")[claim.id]
        assert (says in line.note) is noted
        assert line.claimed.endswith("(computed)") is noted

"""A verdict in short: one number is told one way."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.findings.headline import outcomes
from assay.records.verdicts import Verdict, VerdictReading, VerdictsFile
from assay.report import formatting as fmt
from assay.report.claim_details import verdict_details
from assay.report.claims import claim_lines
from assay.report.figures.strip import figure_strip
from assay.report.verdict_text import claimed_text
from tests import builders as b


@pytest.fixture(scope="module")
def ratio(full_report: Path) -> tuple[Catalog, Verdict]:
    verdicts = read_record(VerdictsFile, full_report / "verdicts.json").verdicts
    (row,) = (verdict for verdict in verdicts if verdict.claim == "demo_ratio")
    return load_catalog(full_report / "evidence"), row


def test_what_the_authors_program_prints_stands_beside_a_rebuild(ratio):
    """In its line, and with a small dot of its own."""
    catalog, row = ratio
    printed = VerdictReading(id="original", says="printed", primary=False, measured=1.9,
                             ci90=(1.8, 2.0), holds=True)  # fmt: skip
    beside = row.model_copy(update={"readings": (printed,)})
    figure = fmt.with_interval(1.9, row.unit, (1.8, 2.0), row.claimed)
    for verdict, shown in ((row, None), (beside, figure)):
        once = outcomes(catalog, [verdict])
        line = claim_lines(catalog, b.evidence([]), [verdict], once)[row.claim]
        assert line.lead.printed == shown
        figures = [replace(each, kind="figures") for each in once]
        strip = figure_strip(catalog, [row.source], figures, {row.claim: line})
        assert strip["drawings"][0].count(f'href="#{row.claim}"') == (2 if shown else 1)
        assert ("small: what the author's program prints" in strip["looks"]) is bool(shown)


@pytest.mark.parametrize(("factor", "says"), [(1.5, "yes"), (3.0, "exceeded")])
def test_a_reading_beyond_a_claimed_range_exceeds_it(ratio, factor, says):
    catalog, row = ratio
    claim = catalog.claims[row.claim]
    ranged = claim.model_copy(update={"to": 2 * claim.value})
    known = replace(catalog, claims={**catalog.claims, claim.id: ranged})
    at = factor * row.claimed
    reading = VerdictReading(id="other", says="otherwise", primary=False, measured=at,
                             ci90=(0.99 * at, 1.01 * at), holds=True)  # fmt: skip
    read = row.model_copy(update={"readings": (reading,)})
    (detail,) = verdict_details(known, b.evidence([]), [read])
    assert detail.readings[0]["holds"] == says


def test_a_figure_that_the_source_does_not_print_is_marked_and_says_what_it_follows_from(ratio):
    catalog, row = ratio
    claim = catalog.claims[row.claim]
    computed = claim.model_copy(update={"computed": "twice the 989 TFLOP/s of line 308"})
    marked = replace(catalog, claims={**catalog.claims, claim.id: computed})
    assert claimed_text(marked, row) == f"{claimed_text(catalog, row)} (computed)"
    says = "The source does not print this figure: it is twice the 989 TFLOP/s of line 308."
    for known, noted in ((catalog, False), (marked, True)):
        line = claim_lines(known, b.evidence([]), [row], outcomes(known, [row]))[claim.id]
        assert (says in line.note) is noted
        assert line.claimed.endswith("(computed)") is noted

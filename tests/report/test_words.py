"""Words of the pages: phrases that were retired stay so, and figures are written one way."""

from pathlib import Path

import pytest

from assay.evidence.load import read_contents
from assay.judging.printed_figures import BOUNDS
from assay.judging.verdicts import FIGURES
from assay.records.claims import Relation
from assay.records.units import quantity
from assay.report import formatting as fmt
from assay.report.verdict_text import claimed_text


def test_a_sentence_and_its_cells_write_figures_alike(full_report: Path) -> None:
    """No ``6.17x`` in an explanation beside ``6.169x`` in its cell, nor 600 beside 600.0."""
    contents = read_contents(full_report)
    told = 0
    for verdict in contents.verdicts.verdicts:
        if (found := FIGURES.search(verdict.explanation)) is None:
            continue
        told += 1
        low, high = verdict.ci90 or (0.0, 0.0)
        begin = f"Measured {quantity(verdict.measured, verdict.unit)} (90\N{NO-BREAK SPACE}% "
        begin += f"interval {fmt.number(low)} to {fmt.number(high)}) against the claimed "
        _, _, claimed = claimed_text(contents.catalog, verdict).rpartition(" ")
        bound = BOUNDS.get(Relation(verdict.relation), "")
        assert fmt.unbroken(found.group()) == fmt.unbroken(f"{begin}{claimed}{bound}: ")
    assert told > 3


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.1076, "0.11"), (0.0734, "0.073"), (1.05, "1.05"), (6.82, "6.8"),
                        (13.2, "13")],
)  # fmt: skip
def test_a_factor_has_no_more_digits_than_tell_it_from_one(ratio: float, text: str) -> None:
    assert fmt.factor(ratio) == f"{text}\N{MULTIPLICATION SIGN}"

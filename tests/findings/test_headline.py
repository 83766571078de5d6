"""The headline: published speed figures counted once each, what they would be, and why not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.findings.headline import ELSEWHERE, FIGURES, Counts, causes, counts_of, headed, outcomes
from assay.judging.causes import with_known_causes
from assay.records.verdicts import Status, Verdict, VerdictsFile, Why

Told = tuple[Catalog, tuple[Verdict, ...]]


@pytest.fixture(scope="module")
def told(full_report: Path) -> Told:
    verdicts = read_record(VerdictsFile, full_report / "verdicts.json").verdicts
    return load_catalog(full_report / "evidence"), verdicts


def headline(told: Told, claim: str = "", **changes: Any) -> Counts:
    """Return the headline, with fields of one claim's verdict changed."""
    catalog, verdicts = told
    rows = [v.model_copy(update=changes) if v.claim == claim else v for v in verdicts]
    return counts_of(outcomes(catalog, with_known_causes(rows)))


def test_figures_are_counted_once_each_by_status(told: Told) -> None:
    found = headline(told)[FIGURES]
    assert found.statuses == {
        Status.REPRODUCED: 2, Status.MISSTATED: 1, Status.NOT_RUN: 1,
    }  # fmt: skip
    assert found.total == sum(found.statuses.values()) == 4


def test_a_claim_that_two_gpus_answer_counts_once_by_the_worse(told: Told) -> None:
    catalog, verdicts = told
    there = next(v for v in verdicts if v.claim == "demo_rate")
    changes = {"target": "h200", "status": Status.NOT_REPRODUCED}
    found = counts_of(outcomes(catalog, [there, there.model_copy(update=changes)]))[FIGURES]
    assert found.statuses == {Status.NOT_REPRODUCED: 1}


def test_a_figure_measured_elsewhere_counts_apart_by_what_it_would_be(told: Told) -> None:
    """Never in the headline: nobody claimed it of that GPU."""
    found = headline(told)
    assert found[FIGURES].away == {}
    assert found[ELSEWHERE].statuses == {Status.NOT_REPRODUCED: 1}
    other = headline(told, "demo_there", as_if=Status.REPRODUCED)
    assert other[FIGURES] == found[FIGURES]
    assert other[ELSEWHERE].statuses == {Status.REPRODUCED: 1}


def test_a_badge_counts_own_claims_where_no_document_is_quoted(told: Told) -> None:
    """It said that nothing was measured."""
    catalog, verdicts = told
    assert headed(counts_of(outcomes(catalog, verdicts))) == FIGURES
    sources = {
        name: file.model_copy(
            update={"source": file.source.model_copy(update={"file": None, "sha256": None})}
        )
        for name, file in catalog.sources.items()
    }
    found = counts_of(outcomes(replace(catalog, sources=sources), verdicts))
    assert headed(found) == "own"
    assert found["own"].statuses[Status.REPRODUCED] >= 2


def test_a_rebuilt_kernels_cause_is_what_another_gpu_showed(told: Told) -> None:
    """The author's program ran there: that other work is counted is known, so it is the cause."""
    catalog, verdicts = told
    here = {"status": Status.NOT_REPRODUCED, "why": Why.REBUILT}
    rows = [v.model_copy(update=here) if v.claim == "demo_rate" else v for v in verdicts]
    (row,) = (v for v in rows if v.claim == "demo_rate")
    there = row.model_copy(
        update={"target": "l4", "status": Status.ELSEWHERE, "as_if": Status.MISSTATED,
                "why": Why.OTHER_WORK}
    )  # fmt: skip
    alone, beside = (
        causes(outcomes(catalog, with_known_causes(every))) for every in (rows, [*rows, there])
    )
    assert Why.OTHER_WORK not in alone
    assert beside[Why.OTHER_WORK] == 1
    assert beside.get(Why.REBUILT, 0) == alone[Why.REBUILT] - 1

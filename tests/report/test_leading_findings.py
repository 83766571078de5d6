"""Findings: sentences made from verdict data alone, the most consequential first."""

from dataclasses import replace
from typing import Any

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.findings.headline import outcomes
from assay.judging.causes import with_known_causes
from assay.records.readings import AS_TYPED
from assay.records.verdicts import Status, Verdict, VerdictReading, VerdictsFile, Why
from assay.report.leading_findings import factor_apart, leading_findings
from tests.report.told import told_report


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, tuple[Verdict, ...]]:
    report = told_report(tmp_path_factory.mktemp("findings") / "repo")
    verdicts = read_record(VerdictsFile, report / "verdicts.json").verdicts
    return load_catalog(report / "evidence"), verdicts


def findings(catalog: Catalog, verdicts: tuple[Verdict, ...]) -> list[str]:
    """Return the sentences, with plain spaces."""
    verdicts = with_known_causes(verdicts)
    found = leading_findings(catalog, verdicts, outcomes(catalog, verdicts))
    return [each.sentence.replace("\N{NO-BREAK SPACE}", " ") for each in found]


def changed(verdicts: tuple[Verdict, ...], claim: str, **changes: Any) -> tuple[Verdict, ...]:
    """``verdicts`` with fields of one claim's verdict changed."""
    return tuple(v.model_copy(update=changes) if v.claim == claim else v for v in verdicts)


def test_a_reading_that_holds_is_named(told: tuple[Catalog, tuple[Verdict, ...]]) -> None:
    catalog, verdicts = told
    (row,) = (v for v in verdicts if v.claim == "demo_rate")
    typed = [r.model_copy(update={"id": AS_TYPED}) if r.holds else r for r in row.readings]
    for why, readings, says in (
        (Why.OTHER_PROBLEM, row.readings, "on another problem"),
        (Why.OTHER_WORDS, row.readings, "read otherwise"),
        (Why.OTHER_PROBLEM, tuple(typed), "by the command as typed"),
    ):
        rows = changed(verdicts, "demo_rate", why=why, readings=readings)
        assert findings(catalog, rows)[0].endswith(f", or 800.4 TFLOP/s {says}.")


def test_a_wrong_output_outweighs_all(told: tuple[Catalog, tuple[Verdict, ...]]) -> None:
    catalog, verdicts = told
    wrong = changed(verdicts, "demo_ratio", status=Status.INCORRECT, why=Why.WRONG_OUTPUT)
    assert " is incorrect (wrong output): " in findings(catalog, wrong)[0]


def test_a_rebuilt_kernel_weighs_less_than_the_original(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    catalog, verdicts = told
    slower = changed(verdicts, "demo_ratio", status=Status.NOT_REPRODUCED, why=Why.ORIGINAL_SLOWER)
    lines = [line for line in findings(catalog, slower) if "not reproduced" in line]
    assert " (original slower): " in lines[0]
    assert " (original not run): " in lines[1]


def test_what_the_authors_program_prints_elsewhere_is_part_of_the_figures_own_finding(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    """One sentence, by the verdict that counts, and the most consequential one."""
    catalog, found = told
    verdicts = changed(found, "demo_ratio", status=Status.NOT_REPRODUCED, why=Why.REBUILT)
    (row,) = (v for v in verdicts if v.claim == "demo_ratio")
    printed = VerdictReading(
        id="original", says="as printed", primary=False, measured=7.5, ci90=None, holds=True
    )
    away = row.model_copy(
        update={
            "status": Status.ELSEWHERE,
            "as_if": Status.MISSTATED,
            "why": Why.OTHER_WORK,
            "target": "l4",
            "readings": (printed,),
        }
    )
    lines = findings(catalog, (*verdicts, away))
    (line,) = [one for one in lines if "Deeper tile over shallower one" in one]
    assert line is lines[0]
    assert " is not reproduced (other work counted): " in line
    assert line.endswith("; the original prints 7.500\N{MULTIPLICATION SIGN} on l4."), (
        "where it was found is said once"
    )


def own_of(catalog: Catalog) -> Catalog:
    """The demonstration's claims as this project's own: their source is no document."""
    source = catalog.sources["demo"]
    own = source.model_copy(update={"source": source.source.model_copy(update={"file": None})})
    return replace(catalog, sources={"demo": own})


def test_of_own_claims_the_one_furthest_off_is_shown_whatever_its_unit(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    """A rate that is off by four times stood behind a ratio that was off by less."""
    catalog, verdicts = told
    lines = findings(own_of(catalog), changed(verdicts, "demo_ratio", status=Status.NOT_REPRODUCED))
    (line,) = [one for one in lines if " of this project on its own kernels, " in one]
    assert ", furthest off, claimed 800 TFLOP/s, measured 200.1 TFLOP/s on h100." in line


@pytest.mark.parametrize(
    ("claimed", "measured", "unit", "factor"),
    [(600.0, 60.0, "tflop_per_s", 10), (2.0, 8.0, "ratio", 4), (100.0, 0.0, "percent", 2)],
)
def test_the_factor_between_two_figures_is_one_or_more(
    told: tuple[Catalog, tuple[Verdict, ...]],
    claimed: float,
    measured: float,
    unit: str,
    factor: float,
) -> None:
    verdict: Verdict = told[1][0]
    shown = verdict.model_copy(update={"claimed": claimed, "measured": measured, "unit": unit})
    assert factor_apart(shown) == pytest.approx(factor)

"""Findings: sentences made from verdict data alone, the most consequential first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.findings.headline import outcomes
from assay.judging.causes import with_known_causes
from assay.records.evaluations import Benchmark
from assay.records.readings import AS_TYPED
from assay.records.verdicts import Status, Verdict, VerdictReading, VerdictsFile, Why
from assay.report.leading_findings import MOST, factor_apart, leading_findings
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trust import published_reports
from tests.report.told import told_report
from tests.report_fixtures import REPOSITORY


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


def test_a_misstated_figure_comes_first_with_the_reading_that_holds(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    first = findings(*told)[0]
    assert first.startswith("1 figure of source demo is misstated (other work counted): ")
    assert first.endswith(
        ", claimed 800 TFLOP/s, a rebuild gives 200.1 TFLOP/s on h100, or 800.4 TFLOP/s counted "
        "otherwise."
    )


@pytest.mark.parametrize(
    ("artifact", "says"),
    [("reimplemented", "a rebuild gives "), ("original", "measured "), ("library", "measured ")],
)
def test_what_was_rebuilt_here_is_said_to_be(
    told: tuple[Catalog, tuple[Verdict, ...]], artifact: str, says: str
) -> None:
    """A rebuild's figure is never set beside the claim as if the author's program had given it."""
    catalog, verdicts = told
    lines = findings(catalog, changed(verdicts, "demo_rate", artifact=artifact))
    assert f", claimed 800 TFLOP/s, {says}200.1 TFLOP/s on h100" in lines[0]


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


def test_what_was_measured_elsewhere_counts_as_it_would_be(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    (line,) = [one for one in findings(*told) if "not reproduced" in one]
    assert line.startswith(
        "1 figure of source demo is not reproduced (original not run): "
        "The same kernel on another GPU, claimed 450 TFLOP/s, a rebuild gives "
    )


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


def test_a_cause_that_another_gpu_showed_of_some_is_said_to_be_of_these(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    """What a verdict found itself is not put down to another GPU."""
    catalog, found = told
    cause = {"status": Status.NOT_REPRODUCED, "as_if": None, "why": Why.OTHER_WORK}
    (own,) = (v for v in found if v.claim == "demo_rate")
    (borrowed,) = (v for v in found if v.claim == "demo_ratio")
    rows = (
        own.model_copy(update={**cause, "readings": ()}),
        borrowed.model_copy(update={**cause, "why_on": "l4", "readings": ()}),
    )
    own_alone = findings(catalog, rows[:1])[0]
    assert " is not reproduced (other work counted): " in own_alone
    assert findings(catalog, rows)[0].startswith(
        "2 figures of source demo are not reproduced (other work counted, found for 1 on l4): "
    )


def test_only_the_verdict_that_counts_is_shown(told: tuple[Catalog, tuple[Verdict, ...]]) -> None:
    """Beside a verdict on the hardware named, what was measured elsewhere is no finding."""
    catalog, verdicts = told
    exceeded = changed(verdicts, "demo_ratio", status=Status.EXCEEDED)
    (row,) = (v for v in exceeded if v.claim == "demo_ratio")
    away = row.model_copy(
        update={"status": Status.ELSEWHERE, "as_if": Status.EXCEEDED, "measured": 99.0}
    )
    assert findings(catalog, (*exceeded, away)) == findings(catalog, exceeded)


def test_arithmetic_and_what_was_not_run_are_told(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    lines = findings(*told)
    assert any(
        line.startswith("1 of 1 relation between printed figures does not") for line in lines
    )
    assert lines[-1] == "1 published figure was not run: left unsaid (1)."


def own_of(catalog: Catalog) -> Catalog:
    """The demonstration's claims as this project's own: their source is no document."""
    source = catalog.sources["demo"]
    own = source.model_copy(update={"source": source.source.model_copy(update={"file": None})})
    return replace(catalog, sources={"demo": own})


def all_held(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """``verdicts``, with every figure that was measured as claimed."""
    return tuple(
        v.model_copy(update={"status": Status.REPRODUCED, "as_if": None, "readings": ()})
        if isinstance(v.measured, float)
        else v
        for v in verdicts
    )


def test_of_own_claims_the_one_furthest_off_is_shown_whatever_its_unit(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    """A rate that is off by four times stood behind a ratio that was off by less."""
    catalog, verdicts = told
    lines = findings(own_of(catalog), changed(verdicts, "demo_ratio", status=Status.NOT_REPRODUCED))
    (line,) = [one for one in lines if " of this project on its own kernels, " in one]
    assert ", furthest off, claimed 800 TFLOP/s, measured 200.1 TFLOP/s on h100." in line


def test_this_projects_own_claims_are_one_finding(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    catalog, verdicts = told
    lines = findings(own_of(catalog), all_held(verdicts))
    (line,) = [one for one in lines if " of this project on its own kernels, " in one]
    assert ": Deeper tile over shallower one, the best ratio, claimed " in line


def test_of_own_claims_one_that_fails_is_shown_before_the_best_ratio(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    """Of several shapes it says that the worst one decides."""
    catalog, found = told
    verdicts = changed(all_held(found), "demo_ratio", status=Status.NOT_REPRODUCED)
    claim = catalog.claims["demo_ratio"]
    asked = claim.evaluation
    assert isinstance(asked, Benchmark)
    twice = asked.model_copy(update={"terms": (*asked.terms, *asked.terms)})
    several = claim.model_copy(update={"evaluation": twice})
    lines = findings(
        replace(own_of(catalog), claims={**catalog.claims, "demo_ratio": several}),
        verdicts,
    )
    (line,) = [one for one in lines if " of this project on its own kernels, " in one]
    assert ": Deeper tile over shallower one, furthest off, claimed " in line
    assert line.count(" in the worst of 2 shapes on ") == 1


def test_there_are_ten_at_most_and_each_is_one_sentence(
    told: tuple[Catalog, tuple[Verdict, ...]],
) -> None:
    catalog, verdicts = told
    found = leading_findings(catalog, verdicts, outcomes(catalog, verdicts))
    assert 0 < len(found) <= MOST
    for each in found:
        assert each.sentence.endswith(".")
        assert ";" not in each.sentence
        assert each.sentence[0].isdigit(), "what is counted comes first"
        assert each.claim is None or each.claim in catalog.claims or each.claim in catalog.audits


def test_nothing_is_said_of_what_nobody_has(told: tuple[Catalog, tuple[Verdict, ...]]) -> None:
    assert findings(told[0], ()) == []


MOST_WORDS = 32
"""Of a finding, a figure and its unit being one word."""
MOST_OF_OURS = 30
"""Of its words, the claim's title being one: that may be as long as its author likes."""


@pytest.mark.parametrize("report", published_reports(REPOSITORY), ids=report_name)
def test_a_finding_of_a_published_report_is_short(report: Path) -> None:
    with opened_report(report) as folder:
        catalog = load_catalog(folder / "evidence")
        verdicts = with_known_causes(read_record(VerdictsFile, folder / "verdicts.json").verdicts)
    found = leading_findings(catalog, verdicts, outcomes(catalog, verdicts))
    assert found
    for each in found:
        ours = each.sentence.replace(each.title or ".", "T", 1)
        assert len(ours.split(" ")) <= MOST_OF_OURS, each.sentence
        assert not each.source or len(each.sentence.split(" ")) <= MOST_WORDS, each.sentence


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

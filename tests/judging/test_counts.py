"""Counts: measurements and not rows, each claim once, by the hardware it names."""

import dataclasses
from typing import Any

from assay.catalog.model import Catalog, ProjectFacts
from assay.judging.counts import count_verdicts, failing_strict
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import Claim, ClaimKind
from assay.records.evaluations import Arithmetic, Metric, Support
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict
from tests import builders as b
from tests.judging.asked import quotient, rate


def row(claim: str, status: Status, **changes: Any) -> Verdict:
    values: dict[str, Any] = {
        "claim": claim, "source": "paper", "target": "h100", "status": status, "claimed": 1.0,
        "measured": None, "unit": None, "ci90": None, "artifact": None, "reason": None,
        "explanation": "", "relation": "equals", "margin": None, "noise_floor": None,
        "samples": None, "discarded_blocks": None, "roofline_fraction": None,
        "binary_sha256": None, "gpu_uuid": None, "measured_on": None, "ran": None, "nearest": (),
        "evidence": (),
    }  # fmt: skip
    return Verdict(**{**values, **changes})


def catalog(*names: str, **others: Claim) -> Catalog:
    return b.catalog([*(b.claim(name, rate()) for name in names), *others.values()])


def test_a_true_claim_of_a_project_does_not_vanish_behind_a_false_one_on_the_same_arm() -> None:
    known = catalog("a", "b")
    paper = known.sources["paper"]
    undocumented = paper.source.model_copy(update={"file": None, "sha256": None})
    known = dataclasses.replace(
        known,
        sources={"paper": paper.model_copy(update={"source": undocumented})},
        project=ProjectFacts("Mine", b.digest("project"), (), frozenset()),
    )
    rows = [
        row("a", Status.REPRODUCED, same_measurement=("b",)),
        row("b", Status.NOT_REPRODUCED, same_measurement=("a",)),
    ]
    expected = {Status.REPRODUCED: 1, Status.NOT_REPRODUCED: 1}
    assert count_verdicts(known, rows)["own"] == expected
    assert count_verdicts(dataclasses.replace(known, project=None), rows)["own"] == {
        Status.NOT_REPRODUCED: 1
    }


def test_arithmetic_is_counted_apart() -> None:
    sums = Arithmetic(
        kind="arithmetic", formula=Formula.MEAN, operands=(Operand(claim="a"), Operand(claim="a"))
    )
    rows = [
        row("a", Status.REPRODUCED),
        row("mean", Status.CONSISTENT),
        row("x", Status.CONSISTENT),
    ]
    found = count_verdicts(catalog("a", mean=b.claim("mean", sums)), rows)
    assert found["published"] == {Status.REPRODUCED: 1}
    assert found["arithmetic"] == {Status.CONSISTENT: 2}


def derived(name: str, **changes: Any) -> Claim:
    return b.claim(
        name, quotient("a", "b"), value=2.0, unit=Unit.RATIO, kind=ClaimKind.RATIO, **changes
    )


def test_however_a_ratio_of_two_stated_figures_is_answered_it_is_no_third() -> None:
    """Both arms answer figures of the same source: the ratio's samples are counted with these."""
    rival = rate("rival").model_copy(update={"metric": Metric.TIME})
    relation = rate(over="rival").model_copy(update={"metric": Metric.TIME_RATIO})
    faster = b.claim("faster", relation, value=2.0, unit=Unit.RATIO,
                     kind=ClaimKind.RATIO, flop_formula=None)  # fmt: skip
    other = b.claim("time", rival, value=2.0, unit=Unit.MS, flop_formula=None)
    rows = [row(name, Status.REPRODUCED) for name in ("a", "time", "faster")]
    both = count_verdicts(catalog("a", time=other, faster=faster), rows)
    assert (both["published"], both["ratios"]) == ({Status.REPRODUCED: 2}, {Status.REPRODUCED: 1})
    alone = count_verdicts(catalog("a", faster=faster), [rows[0], rows[2]])
    assert (alone["published"], alone["ratios"]) == ({Status.REPRODUCED: 2}, {})


def test_what_is_elsewhere_is_never_counted_as_what_was_judged() -> None:
    """Speed figures and their ratios have a line of their own for what they would be there."""
    runs = Support(kind="support", probe="p", arch="sm_90a", expect="builds")
    probe = b.claim("probe", runs, value=None, unit=None, resolution=None, kind=ClaimKind.SUPPORT)
    rows = [
        row(name, Status.ELSEWHERE, target="h200", as_if=Status.REPRODUCED)
        for name in ("a", "probe", "gap")
    ]
    counts = count_verdicts(catalog("a", "b", probe=probe, gap=derived("gap")), rows)
    assert counts["elsewhere"] == {Status.REPRODUCED: 2}
    assert counts["probes"] == {Status.ELSEWHERE: 1}


def test_one_measurement_that_answers_two_questions_counts_twice() -> None:
    """Ten times faster is had, a hundred times is not: neither hides the other."""
    claims = {
        name: b.claim(name, b.unanswerable(), value=value)
        for name, value in (("ten", 10.0), ("tenth", 10.5), ("hundred", 100.0))
    }
    rows = [
        row(name, status, same_measurement=tuple(claims.keys() - {name}))
        for name, status in (
            ("ten", Status.REPRODUCED),
            ("tenth", Status.REPRODUCED),
            ("hundred", Status.NOT_REPRODUCED),
        )
    ]
    counts = count_verdicts(catalog(**claims), rows)
    assert counts["published"] == {Status.REPRODUCED: 1, Status.NOT_REPRODUCED: 1}


def test_rows_that_one_sentence_makes_count_once_by_the_worst() -> None:
    claims = {name: derived(name, sentence="faster") for name in ("s1", "s2")}
    claims["s3"] = derived("s3")
    rows = [
        row("s1", Status.REPRODUCED),
        row("s2", Status.NOT_REPRODUCED),
        row("s3", Status.REPRODUCED),
    ]
    counts = count_verdicts(catalog("a", "b", **claims), rows)
    assert counts["ratios"] == {Status.REPRODUCED: 1, Status.NOT_REPRODUCED: 1}


def test_strict_refuses_what_was_judged_and_not_what_it_would_be_elsewhere() -> None:
    rows = [
        row("a", Status.NOT_REPRODUCED, same_measurement=("b",)),
        row("b", Status.MISSTATED, same_measurement=("a",)),
        row("c", Status.ELSEWHERE, target="h200", as_if=Status.NOT_REPRODUCED),
        row("x", Status.INCONSISTENT),
        row("d", Status.REPRODUCED),
    ]
    claims = catalog("a", "b", "c", "d")
    assert failing_strict(claims, rows) == 2

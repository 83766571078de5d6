"""Who measured figures again: signers, cards, and verdicts that agree."""

from dataclasses import replace

from assay.findings.claim_history import claim_history
from assay.findings.replication import FigureRun, again_in_history, again_line, measured_again
from assay.records.verdicts import Status
from tests.findings.short_reports import figure, machine, report

OWN = FigureRun(("rate", "h100", 2.0, "ratio"), (Status.REPRODUCED, None), ("a", "t1"), "us", 9)
THEIRS = replace(OWN, run=("b", "t2"), signer="them")


def test_a_copy_and_what_was_taken_over_count_for_nothing() -> None:
    copied = replace(OWN, signer="them")
    found = measured_again([OWN], [OWN, copied])
    assert found.by_others.measurements == found.by_signer.measurements == 0
    assert "nobody else yet" in again_line(found)


def test_the_same_signer_is_no_other_one_and_other_rules_are_no_verdict() -> None:
    missed = replace(THEIRS, verdict=(Status.NOT_REPRODUCED, None), run=("c", "t3"))
    older = replace(THEIRS, run=("d", "t4"), rules=8)
    mine = replace(OWN, run=("b", "t5"))
    found = measured_again([OWN], [THEIRS, missed, older, mine])
    assert (found.by_others.cards, found.by_others.measurements) == (3, 3)
    assert (found.by_others.verdicts, found.by_others.agree) == (2, 1)
    assert (found.by_signer.cards, found.by_signer.agree) == (1, 1)


def test_another_number_is_another_figure() -> None:
    other = replace(THEIRS, figure=("rate", "h100", 3.0, "ratio"))
    assert measured_again([OWN], [other]).by_others.measurements == 0


def test_a_history_counts_what_came_before_the_newest() -> None:
    reports = [
        report("run_1", machine("card_a", "t1"), figure(100.0)),
        report("run_2", machine("card_b", "t2"), figure(100.0)),
        report("run_3", machine("card_c", "t3"), figure(90.0, status=Status.EXCEEDED)),
    ]
    lines = claim_history("rate", reports)
    found = again_in_history(lines, ["us", "them", "us"])
    assert (found.by_others.cards, found.by_others.agree) == (1, 0)
    assert (found.by_signer.cards, found.by_signer.agree) == (1, 0)

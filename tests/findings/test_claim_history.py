"""One claim through reports: in the order of measuring, with what changed."""

from assay.findings.claim_history import claim_history
from assay.records.verdicts import Status
from tests.findings.test_card_spread import figure, machine, report


def test_runs_stand_in_the_order_of_measuring_and_say_what_changed():
    reports = [
        report(
            "run_2", machine("card_b", "t2", driver="590"), figure(90.0, status=Status.EXCEEDED)
        ),
        report("run_1", machine("card_a", "t1"), figure(100.0)),
        report("run_3", machine("card_b", "t3", driver="590"), figure(91.0, protocol="events:2")),
    ]
    entries = claim_history("rate", reports)
    assert [entry.place for entry in entries] == [1, 0, 2]
    assert [entry.before for entry in entries] == [None, "reproduced", "exceeded"]
    assert [entry.changed for entry in entries] == [(), ("card", "driver"), ("protocol",)]


def test_targets_have_histories_of_their_own():
    h200 = machine("card_c", "t2", target="h200")
    reports = [
        report("run_1", machine("card_a", "t1"), figure(100.0)),
        report("run_2", h200, figure(150.0, target="h200", status=Status.EXCEEDED)),
    ]
    assert [(e.target, e.before, e.changed) for e in claim_history("rate", reports)] == [
        ("h100", None, ()),
        ("h200", None, ()),
    ]


def test_what_was_not_measured_stands_where_its_report_was_signed():
    nothing = {"status": Status.NOT_RUN, "measured": None, "ci90": None, "question": None}
    reports = [
        report("run_1", machine("card_a", "2026-11-25"), figure(100.0).model_copy(update=nothing)),
        report("run_2", machine("card_a", "2026-11-23"), figure(100.0)),
    ]
    first, second = claim_history("rate", reports)
    assert (first.place, first.machine) == (0, None)  # signed on the 21st
    assert second.machine is not None


def test_other_claims_are_left_out():
    assert claim_history("other", [report("run_1", machine("card_a", "t1"), figure(1.0))]) == []

"""One claim through reports: in the order of measuring, with what changed."""

from assay.findings.claim_history import claim_history
from assay.records.verdicts import Status
from tests.findings.short_reports import figure, machine, report


def test_runs_stand_in_the_order_of_measuring_and_say_what_changed():
    reports = [
        report(
            "run_2", machine("card_b", "t2", driver="590"), figure(90.0, status=Status.EXCEEDED)
        ),
        report("run_1", machine("card_a", "t1"), figure(100.0)),
        report("run_3", machine("card_b", "t3", driver="590"), figure(91.0, protocol="events:2")),
    ]
    entries = claim_history("rate", reports)
    assert [entry.last.place for entry in entries] == [1, 0, 2]
    assert [entry.before for entry in entries] == [None, "reproduced", "exceeded"]
    assert [entry.changed for entry in entries] == [(), ("card", "driver"), ("protocol",)]


def test_a_measurement_is_one_line_with_all_reports_that_carry_it():
    """In the order of signing, whatever the order in which they were given."""
    on = machine("card_a", "t1")
    reports = [
        report("run_3", on, figure(100.0, status=Status.MISSTATED)),
        report("run_1", on, figure(100.0, status=Status.NOT_REPRODUCED)),
        report("run_2", on, figure(100.0, status=Status.NOT_REPRODUCED)),
    ]
    (line,) = claim_history("rate", reports)
    assert [entry.place for entry in line.entries] == [1, 2, 0]
    assert line.last.figure.status is Status.MISSTATED
    assert list(line.judged_otherwise()) == ["not reproduced by rules 3"]


def test_a_report_that_does_not_answer_changes_nothing():
    nothing = {"status": Status.NOT_RUN, "measured": None, "ci90": None, "question": None}
    left = figure(100.0).model_copy(update={**nothing, "reason": "not_recorded"})
    on = machine("card_a", "2026-11-20")
    reports = [
        report("run_1", on, figure(100.0)),
        report("run_2", on, left),
        report("run_3", machine("card_b", "2026-11-24"), figure(101.0)),
    ]
    lines = claim_history("rate", reports)
    assert len(lines) == 3
    assert [line.before for line in lines] == [None, None, None]
    failed = left.model_copy(update={"reason": "run_failed"})
    lines = claim_history("rate", [reports[0], report("run_2", on, failed), reports[2]])
    assert [line.before for line in lines] == [None, "reproduced", "not run"]

"""A row without a figure names the earlier run on its GPU that has one, and what answered it."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.evidence.report_contents import ReportContents, read_contents
from assay.findings.card_spread import other_runs
from assay.findings.claim_history import claim_history
from assay.findings.report_figures import UNWRITTEN, question_of, report_figures
from assay.records.report_figures import ClaimInShort, OtherRunsRecord
from assay.records.verdicts import Status
from assay.report.earlier_runs import earlier_words
from assay.report.render import render_contents
from assay.statistics.shared_summaries import SharedSummaries
from assay.verification.report_archive import is_archive
from assay.verification.trust import published_reports
from tests.findings.test_card_spread import figure, machine, report
from tests.report.test_words import words

ROOT = Path(__file__).resolve().parents[2]
IDLE = "s000_phase1"
"""A claim that no H100 has answered since another kernel does."""


@pytest.fixture(scope="module")
def contents() -> ReportContents:
    """The newest published report."""
    newest = next(report for report in published_reports(ROOT) if not is_archive(report))
    return read_contents(newest)


def page(contents: ReportContents, record: OtherRunsRecord | None, claim: str = IDLE) -> str:
    """Return what the page says at a claim, with other runs than it has."""
    given = replace(contents, evidence=replace(contents.evidence, other_runs=record))
    html = render_contents(ROOT, given, SharedSummaries())["report.html"]
    return html.split(f'<tbody class="claim" id="{claim}"')[1].split("<tbody")[0]


def before(contents: ReportContents, **changes: object) -> OtherRunsRecord:
    """Return a record of one earlier run on an H100, which measured the claim by ``changes``."""
    catalog = contents.catalog
    fields = {"question": "other", "binary_sha256": "b" * 64, **changes}
    asked = str(fields.pop("answered_by", "“the old kernel” on some_problem"))
    run = report("run_1", machine("card_a", "2026-11-21T14:43:29Z"),
                 figure(203.9, claim=IDLE, source="000", **fields))  # fmt: skip
    said = ClaimInShort(title="Phase 1", claimed="", answered_by=asked)
    own = report_figures(catalog, contents.evidence, contents.verdicts, commit=None, created=None,
                         manifest_sha256=UNWRITTEN, rates=False)  # fmt: skip
    return other_runs(own, [run.model_copy(update={"claims": {IDLE: said}})])


def test_another_kernel_is_named_with_its_report_and_figure(contents: ReportContents) -> None:
    line = page(contents, before(contents))
    assert "<small>*</small>" in line.split('<tr class="more">')[0]
    said = words(line)
    assert (
        "An earlier run on this GPU measured 203.9\N{NO-BREAK SPACE}TFLOP/s [203.4, 204.4] "
        "(run_1, 2026-11-21), by another kernel, or on another problem: “the old kernel” on "
        "some_problem. By now “source 000, phase 1, to the letter"
    ).replace("\N{NO-BREAK SPACE}", " ") in said
    assert "cards and runs" not in said.split("H100")[0]


def test_the_same_question_by_another_binary_is_told_apart(contents: ReportContents) -> None:
    asked = question_of(contents.catalog, IDLE)
    said = words(page(contents, before(contents, question=asked)))
    assert "by a binary that is compiled otherwise by now" in said
    assert "another kernel" not in said


def test_nothing_is_said_where_nothing_was_measured_before(contents: ReportContents) -> None:
    line = page(contents, None)
    assert "<small>*" not in line.split('<tr class="more">')[0]
    assert "An earlier run" not in line


def test_what_answered_a_claim_is_kept_with_other_runs(contents: ReportContents) -> None:
    (run,) = before(contents).runs
    assert run.figures[0].answered_by == "“the old kernel” on some_problem"


def test_a_history_says_by_what_the_run_before_was_answered() -> None:
    def said(by: str) -> ClaimInShort:
        return ClaimInShort(title="Rate", claimed="", answered_by=by)

    nothing = {"status": Status.NOT_RUN, "measured": None, "ci90": None, "question": None}
    on = machine("card_a", "2026-11-20")
    first = report("run_1", on, figure(100.0)).model_copy(update={"claims": {"rate": said("A")}})
    idle = report("run_2", on, figure(100.0).model_copy(update=nothing))
    one, two = claim_history(
        "rate", [first, idle.model_copy(update={"claims": {"rate": said("B")}})]
    )
    assert one.earlier is None
    assert earlier_words(two, "run_1").replace("\N{NO-BREAK SPACE}", " ") == (
        "run_1 has 100 TFLOP/s by another kernel, or on another problem: A; by now B answers the "
        "claim"
    )
    _, alike = claim_history("rate", [first, idle.model_copy(update={"claims": first.claims})])
    assert earlier_words(alike, "run_1").endswith("TFLOP/s, which was not taken over")

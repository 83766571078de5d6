"""A row without a figure names the earlier run that has one, on which GPU, and what answered it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.evidence.report_contents import ReportContents, read_contents
from assay.findings.card_spread import other_runs
from assay.findings.claim_history import claim_history
from assay.findings.report_figures import UNWRITTEN, report_figures
from assay.records.report_figures import ClaimInShort, OtherRunsRecord
from assay.records.verdicts import Status
from assay.report.earlier_runs import earlier_words
from assay.report.render import render_contents
from assay.statistics.shared_summaries import SharedSummaries
from assay.verification.report_archive import opened_report
from tests.findings.test_card_spread import figure, machine, report
from tests.report.test_words import words

ROOT = Path(__file__).resolve().parents[2]
IDLE = "s000_phase1"
"""A claim that no H100 has answered since another kernel does."""


@pytest.fixture(scope="module")
def contents() -> Iterator[ReportContents]:
    """A published report in which claims of an H100 have no figure."""
    with opened_report(ROOT / "reports/published/hopper_20261123_sources.tar.xz") as report:
        yield read_contents(report)


def texts(contents: ReportContents, record: OtherRunsRecord | None) -> dict[str, str]:
    """Return a report's texts with other runs than it has."""
    given = replace(contents, evidence=replace(contents.evidence, other_runs=record))
    return render_contents(ROOT, given, SharedSummaries())


def page(contents: ReportContents, record: OtherRunsRecord | None, claim: str = IDLE) -> str:
    """Return what the page says at a claim, with other runs than it has."""
    html = texts(contents, record)["report.html"]
    return html.split(f'<tbody class="claim" id="{claim}"')[1].split("<tbody")[0]


@pytest.fixture(scope="module")
def told(contents: ReportContents) -> dict[str, str]:
    """The report's texts, with the other runs that it has."""
    return texts(contents, contents.evidence.other_runs)


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


class TestOnAnotherGpu:
    """Claims that only the H200 of another report answered: their one row names an H100."""

    CLAIMS = ("s003_e2e_latency", "s003_e2e_actual", "s003_e2e_effective", "s003_e2e_bandwidth",
              "s003_target_actual", "s003_target_effective", "s003_fusion_gain")  # fmt: skip

    def test_the_details_name_gpu_figure_and_report(self, told: dict[str, str]) -> None:
        for claim in self.CLAIMS:
            line = told["report.html"].split(f'<tbody class="claim" id="{claim}"')[1]
            head, details = line.split("<tbody")[0].split('<tr class="more">')
            assert "<small>*</small>" in head
            assert "An earlier run on NVIDIA H200 measured " in words(details)
            assert "(h200_20261122_phases, 2026-11-22), " in words(details)
        assert "measured 0.05117 ms [0.05115, 0.05119]" in words(told["report.html"])


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
        "run_1 has 100.0 TFLOP/s by another kernel, or on another problem: A; by now B answers the "
        "claim"
    )
    _, alike = claim_history("rate", [first, idle.model_copy(update={"claims": first.claims})])
    assert earlier_words(alike, "run_1").endswith("TFLOP/s, which was not taken over")

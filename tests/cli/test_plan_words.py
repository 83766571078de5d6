"""What a run says first: without a GPU that nothing is measured, what is done instead."""

from pathlib import Path

from assay.catalog.load import load_catalog
from assay.cli.plan_words import claim_lines, plan_lines
from assay.measuring.host_machine import NO_DRIVER
from assay.pipeline.plan import make_plan
from assay.records.evaluations import Benchmark, Metric, NotRun, Term, Unanswerable
from assay.records.plan import Plan, Provision
from tests import builders as b
from tests.report_fixtures import make_request, provision

ROOT = Path(__file__).resolve().parents[2]
FOUR_MINUTES = 242.0
NONE = provision("l4", "none", detail=NO_DRIVER, reason=NotRun.NO_DEVICE)
TAKEN = provision(
    "h100", "recorded", recorded_in="reports/x", detail="figures come from reports/x",
    absence=NO_DRIVER,
)  # fmt: skip


def planned(*provisions: Provision) -> Plan:
    return make_plan(load_catalog(ROOT), make_request("r", provisions, ["002"]))


def test_one_sentence_says_all() -> None:
    plan = planned(NONE, TAKEN)
    first, *_ = plan_lines(plan, FOUR_MINUTES)
    assert first.startswith("No GPU")
    assert "nothing will be measured" in first
    assert "the figures of reports/x on h100 are judged again" in first
    assert f"{len(plan.builds)} builds are compared" in first
    assert first.endswith("from scratch)")


def test_figures_from_elsewhere_are_told_apart() -> None:
    term = Term(comparison="duel", arm="ours")
    rate = Benchmark(kind="benchmark", metric=Metric.RATE, terms=(term,))
    catalog = b.catalog([b.claim("rate", rate)])
    asked = make_request("run", [provision("h100"), provision("l4")], ["paper"])
    plan = make_plan(catalog, asked)
    lines = list(claim_lines(catalog, plan, every=False))
    assert lines[:2] == [
        "would be measured on h100: 1 claim: rate",
        "would be measured on l4, not the GPU of the claims: 1 claim: rate",
    ]


def test_what_no_measurement_answers_is_not_taken_over() -> None:
    unsaid = Unanswerable(
        kind="unanswerable", reason=NotRun.CONFIGURATION_MISSING, detail="The shape is unsaid."
    )
    catalog = b.catalog([b.claim("rate", unsaid)])
    plan = make_plan(catalog, make_request("run", [TAKEN], ["paper"]))
    (line,) = claim_lines(catalog, plan, every=False)
    assert line.startswith("would not be run (configuration missing)")

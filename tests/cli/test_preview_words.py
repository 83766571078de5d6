"""What a dry run says: on other hardware than a claim is for, it says so."""

from assay.cli.preview_words import preview_lines
from assay.pipeline.plan import make_plan
from assay.pipeline.preview import every_step
from assay.records.evaluations import Benchmark, Metric, Term
from tests import builders as b
from tests.report_fixtures import make_request, provision


def test_figures_from_elsewhere_are_told_apart() -> None:
    term = Term(comparison="duel", arm="ours")
    rate = Benchmark(kind="benchmark", metric=Metric.RATE, terms=(term,))
    catalog = b.catalog([b.claim("rate", rate)])
    asked = make_request("run", [provision("h100"), provision("l4")], ["paper"])
    plan = make_plan(catalog, asked)
    lines = list(preview_lines(catalog, plan, every_step(plan), every=False))
    assert lines[:2] == [
        "would be measured on h100: 1 claim: rate",
        "would be measured on l4, elsewhere than they are for: 1 claim: rate",
    ]

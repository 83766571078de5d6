"""``reproduce --claim``: a run plans only what answers the claims that it was asked for."""

from pathlib import Path
from typing import Any

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.pipeline.plan import make_plan
from assay.records.plan import Request
from assay.records.verdicts import VerdictsFile
from assay.records.verification import ProofState
from assay.report.render import render
from assay.verification.sign import sign
from assay.verification.verify import verify
from tests.report_fixtures import make_request, provision, write_repository, write_run

ROOT = Path(__file__).resolve().parents[2]


def asking(*claims: str) -> Any:
    def asked(request: Request) -> Request:
        return request.model_copy(update={"claims": claims})

    return asked


def test_builds_comparisons_and_answers_are_those_of_the_claim() -> None:
    catalog = load_catalog(ROOT)
    sources = catalog.sources_of(["s002_final"])
    assert sources == ("002",)
    request = make_request("r", [provision()], sources)
    whole = make_plan(catalog, request)
    plan = make_plan(catalog, asking("s002_final")(request))
    assert {answer.claim for answer in plan.answers} == {"s002_final"}
    assert {job.id for job in plan.builds} < {job.id for job in whole.builds}
    assert "cutlass_example_88" not in {job.id for job in plan.builds}
    assert set(plan.targets[0].comparisons) < set(whole.targets[0].comparisons)
    assert plan.claims == ("s002_final",)


def test_its_report_is_complete(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    run_dir = write_run(root, "one_claim", asking=asking("demo_ratio"))
    report = root / "reports" / "one_claim"
    render(root, run_dir, report)
    sign(report, tmp_path / "key")
    verdicts = read_record(VerdictsFile, report / "verdicts.json").verdicts
    assert {verdict.claim for verdict in verdicts} == {"demo_ratio"}
    result = verify(report, [tmp_path / "key.pub"])
    assert result.holds
    (complete,) = (check for check in result.checks if check.id == "complete")
    assert complete.state is ProofState.PROVEN

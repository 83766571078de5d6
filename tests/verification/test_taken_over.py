"""What a run leaves of a report that it takes figures over from."""

from collections.abc import Iterable

import pytest

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.stages import target_paths
from assay.pipeline.plan import make_plan
from assay.records.plan import Plan
from assay.verification.contradictions import Findings
from assay.verification.origin import Origin
from assay.verification.taken_over import check_taken_over
from tests.checkout_fixtures import describe_checkout_claims
from tests.report_fixtures import make_request, provision, write_repository

BUILD, TIMES = "builds/sm_90a/demo_bk32.json", "timings.json"
OWN = "h100/original/demo_own.json.gz"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = write_repository(tmp_path_factory.mktemp("taken") / "repo")
    describe_checkout_claims(root)
    return load_catalog(root)


def _plan(catalog: Catalog, paths: Iterable[str]) -> Plan:
    given = provision(
        kind="recorded", recorded_in="reports/first", recorded_paths=tuple(sorted(paths)),
        detail="taken over",
    )  # fmt: skip
    return make_plan(catalog, make_request("demo_run", [given], tuple(catalog.sources)))


def _held(catalog: Catalog) -> set[str]:
    """All that a report of the run that measured holds."""
    measured = make_plan(catalog, make_request("first", [provision()], tuple(catalog.sources)))
    return {*target_paths(measured.targets[0]), BUILD, TIMES, OWN}


def _found(catalog: Catalog, without: str, **alike: bool) -> Findings:
    held = _held(catalog)
    plan = _plan(catalog, {path for path in held if without not in path} - {OWN})
    same = frozenset({"config/claims/demo.yaml"} if alike.pop("claims", False) else ())
    held -= set() if without == OWN else {OWN}
    findings = Findings()
    origin = Origin(frozenset(held), same=same, **{"defined_alike": True, **alike})
    check_taken_over(catalog, plan, plan.targets[0], origin, findings)
    return findings


def test_who_takes_all_leaves_nothing(catalog: Catalog) -> None:
    found = _found(catalog, "nothing", tools_alike=True)
    assert (found.contradictions, found.unproven) == ([], [])


@pytest.mark.parametrize("left", ["/program/", BUILD, TIMES])
def test_what_is_left_though_nothing_changed_is_refused(catalog: Catalog, left: str) -> None:
    codes = [each.code for each in _found(catalog, left, tools_alike=True).contradictions]
    assert codes == ["figures-not-planned"]


@pytest.mark.parametrize(("left", "unproven"), [("/program/", 1), (BUILD, 1), (TIMES, 0)])
def test_what_other_tools_compiled_may_be_left(catalog: Catalog, left: str, unproven: int) -> None:
    """That no times of an older report came along is said where they are missing."""
    found = _found(catalog, left, tools_alike=False)
    assert (found.contradictions, len(found.unproven)) == ([], unproven)


def test_a_sources_own_program_is_left_only_where_its_claims_are_others(catalog: Catalog) -> None:
    found = _found(catalog, OWN, claims=True, tools_alike=True)
    assert [each.code for each in found.contradictions] == ["figures-not-planned"]
    other = _found(catalog, OWN, claims=False, tools_alike=True)
    assert (other.contradictions, len(other.unproven)) == ([], 1)

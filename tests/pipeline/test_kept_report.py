"""A run of fewer claims replaces no signed report."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.pipeline.kept_report import require_kept_report
from assay.pipeline.plan import make_plan
from assay.records.evaluations import NotRun
from assay.records.plan import Request
from tests.report_fixtures import make_request, provision, signed_report, write_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the signed report of all claims of run 'demo_run'."""
    root = write_repository(tmp_path / "repo")
    signed_report(root)
    return root


def keep(root: Path, request: Request, *, narrowed: bool = False) -> None:
    catalog = load_catalog(root)
    require_kept_report(root, catalog, request, make_plan(catalog, request), narrowed=narrowed)


def whole() -> Request:
    return make_request("demo_run", [provision()], ["demo"])


def test_the_same_claims_replace_it(root: Path) -> None:
    keep(root, whole())


def test_fewer_do_not(root: Path) -> None:
    one = next(iter(load_catalog(root).claims))
    with pytest.raises(BadInput, match="--run NAME"):
        keep(root, whole().model_copy(update={"claims": (one,)}))


def test_under_another_name_they_may_be_fewer(root: Path) -> None:
    one = next(iter(load_catalog(root).claims))
    keep(root, whole().model_copy(update={"claims": (one,), "run": "other"}))


def test_a_report_that_nobody_signed_is_replaced(root: Path) -> None:
    one = next(iter(load_catalog(root).claims))
    (root / "reports" / "demo_run" / "attestation.json").unlink()
    keep(root, whole().model_copy(update={"claims": (one,)}))


def test_fewer_targets_do_not_where_they_were_named(root: Path) -> None:
    """A GPU that is gone is no reason to refuse: nobody asked for less."""
    away = make_request("demo_run", [provision("l4", "none", reason=NotRun.NO_DEVICE)], ["demo"])
    text = (root / "config" / "targets" / "h100.yaml").read_text()
    (root / "config" / "targets" / "l4.yaml").write_text(text.replace("id: h100", "id: l4"))
    keep(root, away)
    with pytest.raises(BadInput, match="figures on h100"):
        keep(root, away, narrowed=True)


def test_claims_that_are_gone_count_for_nothing(root: Path) -> None:
    catalog = load_catalog(root)
    one = next(iter(catalog.claims))
    request = whole().model_copy(update={"claims": (one,)})
    plan = make_plan(catalog, request)
    left = {name: claim for name, claim in catalog.claims.items() if name == one}
    changed = type(catalog)(**{**vars(catalog), "claims": left, "audits": {}})
    require_kept_report(root, changed, request, plan, narrowed=False)

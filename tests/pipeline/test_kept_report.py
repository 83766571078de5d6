"""A run of fewer claims replaces no signed report."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.pipeline.plan import make_plan
from assay.pipeline.preconditions import require_kept_report
from assay.records.evaluations import NotRun
from tests.report_fixtures import make_request, provision, signed_report, write_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the signed report of all claims of run 'demo_run'."""
    root = write_repository(tmp_path / "repo")
    signed_report(root)
    return root


def keep(root: Path, *, narrowed: bool = False, only: bool = False, **changes: object) -> None:
    """Ask whether a run may replace what is there; ``only``: a run of one claim."""
    catalog = load_catalog(root)
    request = make_request("demo_run", [provision()], ["demo"]).model_copy(update=changes)
    if only:
        request = request.model_copy(update={"claims": (next(iter(catalog.claims)),)})
    require_kept_report(root, catalog, request, make_plan(catalog, request), narrowed=narrowed)


def test_the_same_claims_replace_it_and_fewer_do_not(root: Path) -> None:
    keep(root)
    with pytest.raises(BadInput, match="--run NAME"):
        keep(root, only=True)
    keep(root, only=True, run="other")
    (root / "reports" / "demo_run" / "attestation.json").unlink()
    keep(root, only=True)  # nobody signed what is there


def test_fewer_targets_do_not_where_they_were_named(root: Path) -> None:
    """A GPU that is gone is no reason to refuse: nobody asked for less."""
    away = (provision("l4", "none", reason=NotRun.NO_DEVICE),)
    text = (root / "config" / "targets" / "h100.yaml").read_text()
    (root / "config" / "targets" / "l4.yaml").write_text(text.replace("id: h100", "id: l4"))
    keep(root, targets=away)
    with pytest.raises(BadInput, match="figures on h100"):
        keep(root, targets=away, narrowed=True)

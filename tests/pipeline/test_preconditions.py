"""The questions asked of the machine before anything is planned or begun."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput, MissingEnvironment
from assay.catalog.load import load_catalog
from assay.pipeline.plan import make_plan
from assay.pipeline.preconditions import require_compiler, require_kept_report, require_places
from assay.records.evaluations import NotRun
from tests.report_fixtures import make_request as made_request
from tests.report_fixtures import provision


@pytest.mark.parametrize("starts", [True, False])
def test_a_missing_compiler_ends_a_run_that_compiles(root, monkeypatch, capsys, starts):
    request = made_request("asked", [provision(kind="none")], ["000"])
    plan = make_plan(load_catalog(root), request.model_copy(update={"rebuild": True}))
    monkeypatch.setenv("PATH", "/nonexistent")
    if starts:
        with pytest.raises(MissingEnvironment, match=r"there is no g\+\+"):
            require_compiler(request, plan, starts=starts)
    else:
        require_compiler(request, plan, starts=starts)
        assert "there is no g++" in capsys.readouterr().err
    require_compiler(request, plan.model_copy(update={"builds": ()}))


class TestPlaces:
    """A place that cannot be written is named before any measuring."""

    def test_a_key_that_cannot_be_made_names_the_option(self, root, tmp_path, capsys):
        (tmp_path / "file").touch()
        key = tmp_path / "file" / "key"
        with pytest.raises(MissingEnvironment, match="--signing-key or ASSAY_SIGNING_KEY"):
            require_places(root, "asked", key)
        require_places(root, "asked", None)
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("folder", ["results", "reports"])
    def test_a_file_in_the_place_of_a_folder(self, tmp_path: Path, folder: str) -> None:
        (tmp_path / folder).touch()
        with pytest.raises(BadInput):
            require_places(tmp_path, "asked", None)


@pytest.mark.parametrize("name", ["reports", "results", "reports/asked", "results/asked"])
def test_a_link_leads_no_run_out_of_its_home(tmp_path: Path, name: str) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    require_places(home, "asked", None)
    (home / name).symlink_to(elsewhere)
    with pytest.raises(BadInput):
        require_places(home, "asked", None)


@pytest.fixture
def signed(own_report: Path) -> Path:
    """A repository with the signed report of all claims of run 'demo_run'."""
    return own_report.parents[1]


def keep(root: Path, *, narrowed: bool = False, only: bool = False, **changes: object) -> None:
    """Ask whether a run may replace what is there; ``only``: a run of one claim."""
    catalog = load_catalog(root)
    request = made_request("demo_run", [provision()], ["demo"]).model_copy(update=changes)
    if only:
        request = request.model_copy(update={"claims": (next(iter(catalog.claims)),)})
    require_kept_report(root, request, make_plan(catalog, request), narrowed=narrowed)


def test_the_same_claims_replace_it_and_fewer_do_not(signed: Path) -> None:
    keep(signed)
    with pytest.raises(BadInput, match="--run NAME"):
        keep(signed, only=True)
    keep(signed, only=True, run="other")
    path = signed / "config" / "claims" / "demo.yaml"
    path.write_text(path.read_text().replace("demo_rate", "renamed_rate"))
    with pytest.raises(BadInput, match="without 1 of"):
        keep(signed)
    path.write_text(path.read_text().replace("renamed_rate", "demo_rate"))
    (signed / "reports" / "demo_run" / "attestation.json").unlink()
    keep(signed, only=True)  # nobody signed what is there


def test_fewer_targets_do_not_where_they_were_named(signed: Path) -> None:
    """A GPU that is gone is no reason to refuse: nobody asked for less."""
    away = (provision("l4", "none", reason=NotRun.NO_DEVICE),)
    text = (signed / "config" / "targets" / "h100.yaml").read_text()
    (signed / "config" / "targets" / "l4.yaml").write_text(text.replace("id: h100", "id: l4"))
    keep(signed, targets=away)
    with pytest.raises(BadInput, match="figures on h100"):
        keep(signed, targets=away, narrowed=True)

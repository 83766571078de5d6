"""The files that bind a run: written once by the command, read by the workflow and every step."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.pipeline.dag import load_dag
from assay.pipeline.plan import make_plan
from assay.pipeline.run_files import bind_run, read_bound
from assay.records.plan import Request
from assay.records.timings import StepTiming
from tests.report_fixtures import make_request, provision, write_repository

RUN = "results/bound"
JUDGING = Path("config") / "judging.yaml"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, as the working directory that the workflow has."""
    monkeypatch.chdir(write_repository(tmp_path / "repo"))
    return Path.cwd()


def request(**changes: object) -> Request:
    return make_request("bound", [provision()], ["demo"]).model_copy(update=changes)


def bind(root: Path, asked: Request | None = None) -> None:
    catalog, asked = load_catalog(root), asked or request()
    bind_run(root, catalog, asked, make_plan(catalog, asked))


def edit(path: Path) -> None:
    path.write_text(path.read_text().replace("margin: 0.0", "margin: 0.1"))


def test_a_run_holds_what_it_was_planned_from(root: Path) -> None:
    bind(root)
    assert read_bound(root / RUN) == (request(), make_plan(load_catalog(root), request()))
    assert load_catalog(root / RUN) == load_catalog(root)
    assert read_record(StepTiming, root / RUN / "timings" / "plan.json").stage == "plan"


def test_an_edit_under_a_running_run_is_for_its_next_start(root: Path) -> None:
    bind(root)
    planned_from = load_catalog(root)
    edit(root / JUDGING)
    assert load_catalog(root) != planned_from
    assert load_dag(root, RUN).catalog == planned_from
    bind(root)
    assert load_dag(root, RUN).catalog == load_catalog(root)


def test_an_edit_between_planning_and_starting_stops_the_start(root: Path) -> None:
    catalog = load_catalog(root)
    plan = make_plan(catalog, request())
    edit(root / JUDGING)
    with pytest.raises(BadInput):
        bind_run(root, catalog, request(), plan)
    assert not (root / RUN).exists()


def test_a_step_without_a_run_says_how_one_is_started(root: Path) -> None:
    with pytest.raises(BadInput, match=r"request\.json"):
        load_dag(root, RUN)
    assert load_dag(root, None).plan.targets == ()

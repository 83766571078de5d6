"""``./assay lab tune``: sweeps alone, what they say of choices, and the file they may change."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import MissingEnvironment
from assay.catalog.load import load_catalog
from assay.cli.commands import lab as tuning
from assay.cli.commands.lab import measure_choices
from assay.findings.tuning_outcomes import ChoiceStanding
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options
from assay.records.plan import Provision, Request
from tests.report_fixtures import (
    choice,
    make_request,
    provision,
    write_repository,
    write_run,
    write_tuning,
)

SLOW = choice(variant="demo_bk32", evidence={"comparison": "demo_sweep", "arm": "bk32"})


OPTIONS = Options(
    run="tuning", sources=("demo",), targets=("h100",), runtime="host", executor="local",
    signing_key=Path("unused"),
)  # fmt: skip


def find(provision: Provision, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the request be made of what is found."""

    def make(_root: Path, _catalog: Any, asked: Options) -> Request:
        request = make_request(asked.run, [provision], asked.sources)
        return request.model_copy(update={"tuning": asked.tuning})

    monkeypatch.setattr(tuning, "make_request", make)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write_repository(tmp_path / "repo")
    write_tuning(root, SLOW)
    return root


class TestTune:
    """From a target to what its sweeps say."""

    def test_sweeps_alone_are_run_and_told(self, repository, monkeypatch):
        given: list[Any] = []

        def run(root: Path, _catalog: Any, request: Request, *_: Any, **rest: Any) -> None:
            given.extend((request, rest))
            made = write_run(repository, "made")
            shutil.copytree(made, root / "results" / request.run, dirs_exist_ok=True)

        find(provision(), monkeypatch)
        monkeypatch.setattr(tuning, "run_workflow", run)
        (outcome,) = measure_choices(repository, OPTIONS, 2)
        assert given[1] == {"cores": 2, "goal": "timed"}
        plan = make_plan(load_catalog(repository), given[0])
        assert plan.answers == ()
        assert plan.targets[0].comparisons == ("demo_sweep",)
        assert outcome.standing is ChoiceStanding.ANOTHER_IS_FASTER
        assert outcome.rival_variant == "demo_bk96"

    def test_without_a_gpu_or_a_record_the_machine_lacks_something(self, repository, monkeypatch):
        find(provision(kind="none", detail="no H100 here"), monkeypatch)
        with pytest.raises(MissingEnvironment, match="h100: no H100 here; no published"):
            measure_choices(repository, OPTIONS, 2)

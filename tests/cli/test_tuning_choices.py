"""``./assay lab tune``: sweeps alone, what they say of choices, and the file they may change."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import MissingEnvironment
from assay.base.io import load_yaml
from assay.catalog.load import load_catalog
from assay.cli import tuning_choices as tuning
from assay.cli.tuning_choices import (
    FILE,
    Tuned,
    better_choices,
    measure_choices,
    of_target,
    write_choices,
)
from assay.evidence.load import load_evidence
from assay.findings.tuning_outcomes import ChoiceStanding, outcomes
from assay.judging.case import Case
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options
from assay.records.plan import Provision, Request
from assay.records.tuning import SweepArm, TuningChoice, TuningFile
from tests.report_fixtures import (
    choice,
    make_request,
    provision,
    said_here,
    tuning_sweep,
    write_repository,
    write_run,
    write_tuning,
)

ROOT = Path(__file__).resolve().parents[2]
SLOW = choice(variant="demo_bk32", evidence={"comparison": "demo_sweep", "arm": "bk32"})


def options(target: str = "h100") -> Options:
    return Options(
        run="tuning", sources=("demo",), targets=(target,), runtime="host", executor="local",
        device_python="python3", prebuilt=None, recorded=(), keys=(),
        signing_key=Path("unused"), host_image=False,
    )  # fmt: skip


class Workflow:
    """Stands where the request is made and the workflow is run; keeps what it was given."""

    def __init__(self, root: Path, found: Provision, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.found = root, found
        self.request: Request | None = None
        self.goal: str | None = None
        monkeypatch.setattr(tuning, "make_request", self.make_request)
        monkeypatch.setattr(tuning, "run_workflow", self.run)

    def make_request(self, _root: Path, _catalog: Any, asked: Options) -> Request:
        request = make_request(asked.run, [self.found], asked.sources)
        return request.model_copy(update={"tuning": asked.sweeps})

    def run(self, root: Path, request: Request, *, cores: int, goal: str) -> None:
        self.request, self.goal = request, goal
        assert cores == 2
        made = write_run(self.root, "made")
        shutil.copytree(made, root / "results" / request.run, dirs_exist_ok=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write_repository(tmp_path / "repo")
    write_tuning(root, SLOW)
    return root


class TestTune:
    """From a target to what its sweeps say."""

    def test_sweeps_alone_are_run_and_told(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        workflow = Workflow(repository, provision(), monkeypatch)
        tuned = measure_choices(repository, options(), 2)
        assert workflow.request is not None and workflow.goal == "timed"
        plan = make_plan(load_catalog(repository), workflow.request)
        assert plan.answers == ()
        assert plan.targets[0].comparisons == ("demo_sweep",)
        (outcome,) = tuned.outcomes
        assert outcome.standing is ChoiceStanding.ANOTHER_IS_FASTER
        assert tuned.detail == said_here()

    def test_without_a_gpu_or_a_record_the_machine_lacks_something(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Workflow(repository, provision(kind="none", detail="no H100 here"), monkeypatch)
        with pytest.raises(MissingEnvironment, match="h100: no H100 here; no published"):
            measure_choices(repository, options(), 2)


class TestBetter:
    """The choices that would stand in the file."""

    def test_the_faster_rival_takes_the_place(self, repository: Path) -> None:
        evidence = load_evidence(write_run(repository))
        found = outcomes(Case(load_catalog(repository), evidence))
        (new,) = better_choices(Tuned("here", found, evidence, 0.05), [SLOW])
        assert (new.id, new.variant) == ("demo_choice", "demo_bk96")
        assert new.evidence == SweepArm(comparison="demo_sweep", arm="bk96")
        assert new.why.startswith("1.80")
        assert new.why.endswith(
            "as demo_bk32, which it replaced, in demo_sweep on NVIDIA H100 80GB HBM3, 2026-01-02, "
            "run demo_run."
        )

    def test_what_a_sweep_begins_with_is_chosen_once_it_is_confirmed(
        self, repository: Path
    ) -> None:
        write_tuning(repository, sweeps=[tuning_sweep("bk96")])
        evidence = load_evidence(write_run(repository))
        found = of_target(load_catalog(repository), evidence, "h100")
        assert [o.standing for o in found] == [ChoiceStanding.CONFIRMED]
        (new,) = better_choices(Tuned("here", found, evidence, 0.05), [])
        assert (new.id, new.variant, new.dtype) == ("h100_demo", "demo_bk96", "float16")
        assert new.why.startswith("No rival is faster by more than 5 %; 1.2")
        assert new.why.endswith("on NVIDIA H100 80GB HBM3, 2026-01-02, run demo_run.")


class TestWriting:
    """config/tuning.yaml of this repository, with one choice replaced."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        (tmp_path / "config").mkdir()
        shutil.copy(ROOT / FILE, tmp_path / FILE)
        return tmp_path

    @staticmethod
    def changed(old: TuningChoice) -> TuningChoice:
        arm = SweepArm(comparison=old.evidence.comparison, arm="g16")
        why = r"It's faster: \1 times, 'they' say # really"
        return old.model_copy(update={"variant": "bsr_gemm_wgmma_g16", "evidence": arm, "why": why})

    @pytest.mark.parametrize("number", [0, -1])
    def test_one_choice_changes_and_all_else_stays(self, tree: Path, number: int) -> None:
        before = load_yaml(TuningFile, tree / FILE).choices
        new = self.changed(before[number])
        write_choices(tree, [new])
        after = load_yaml(TuningFile, tree / FILE).choices
        assert after == tuple(new if old.id == new.id else old for old in before)
        head, old_head = ((top / FILE).read_text().split("choices:")[0] for top in (tree, ROOT))
        assert head == old_head
        assert sorted(path.name for path in (tree / "config").iterdir()) == ["tuning.yaml"]

    @pytest.mark.parametrize("shapes", [{}, {"n_most": 64, "ragged": False}])
    def test_new_choices_come_behind_all_others(self, tree: Path, shapes: dict[str, Any]) -> None:
        before = load_yaml(TuningFile, tree / FILE)
        why = "Nobody's: 'it' was # the fastest"
        new = choice(id="l4_demo", target="l4", dtype="bfloat16", shapes=shapes, why=why)
        write_choices(tree, [new])
        after = load_yaml(TuningFile, tree / FILE)
        assert after.choices == (*before.choices, new)
        assert after.sweeps == before.sweeps

"""Jobs of one run on a node with two cards, of which Slurm grants now one and now the other.

Steps are called as a job calls them; what Slurm and the driver say is set here, and the stand-in
of ``box`` answers for each card.
"""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.base.writable import cache_folder
from assay.catalog.load import load_catalog
from assay.evidence.stages import PLATFORMS
from assay.measuring.slurm_grant import SlurmGrant
from assay.pipeline import gpu_step_base
from assay.pipeline.plan import make_plan
from assay.pipeline.run_files import bind_run
from assay.pipeline.slurm_jobs import node_of
from assay.pipeline.steps import Steps
from assay.records.base import GpuRecord
from assay.records.cluster import NO_CLUSTER
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord
from assay.records.platform import PlatformRecord
from tests.pipeline.box import H100S, NAMES, RUN, Box
from tests.report_fixtures import make_request, provision

FIRST, SECOND = H100S[:2]
NODE = "gpu07"


class Node:
    """The node, and the steps of the run that are jobs on it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.box = Box(folder, {"h100": (FIRST, SECOND)}, profiled=["first"])
        self._patch, self._jobs = monkeypatch, 0
        self.request = make_request(RUN, [provision()], ["fixture"]).model_copy(
            update={
                "executor": "slurm", "cluster": NO_CLUSTER, "device_python": str(self.box.python),
            }
        )  # fmt: skip
        catalog = load_catalog(self.box.root)
        bind_run(self.box.root, catalog, self.request, make_plan(catalog, self.request))

    def job(self, stage: str, card: str, *, ran_on: str | None = None) -> None:
        """Do a step on a card. ``ran_on``: what the device side takes instead."""
        self._jobs += 1
        grant = SlurmGrant(str(self._jobs), NODE, "gpu", "h100", 1, None)
        self._patch.setattr(gpu_step_base, "slurm_grant", lambda _: grant)
        self._patch.setattr(gpu_step_base, "held_gpu", lambda *_: card)
        self._patch.setenv("CUDA_VISIBLE_DEVICES", ran_on or card)
        steps = Steps(self.box.root, f"results/{RUN}")
        for part in dict.fromkeys(("platform", stage)):  # a job looks at its card first
            getattr(steps, part)("h100")

    def cards(self, record: type[GpuRecord], stage: str) -> set[str]:
        return set(self.box.records(record, stage).values())

    def contradictions(self) -> list[str]:
        return [says for _, says in self.box.refusals()]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    return Node(tmp_path, monkeypatch)


def test_the_platforms_record_tells_of_its_job_and_names_no_node(node: Node) -> None:
    node.job("platform", FIRST)
    text = (node.box.results / PLATFORMS.path("h100")).read_text()
    allocation = PlatformRecord.model_validate_json(text).allocation
    assert (allocation.job_id, allocation.gpu_model, allocation.gpu_count) == ("1", "h100", 1)
    assert NODE not in text
    assert node_of(node.box.results, "h100") == NODE


class TestAnotherCard:
    """A job that is granted another card than the run's first job was."""

    def test_all_is_measured_again_there(self, node: Node) -> None:
        node.job("correctness", SECOND)
        node.job("benchmark", SECOND)
        node.box.units()
        for stage in ("correctness", "benchmark"):
            node.job(stage, FIRST)
        assert sorted(node.box.units()) == sorted(
            (task, name, FIRST) for task in ("correctness", "benchmark") for name in NAMES
        )
        assert node.cards(CorrectnessRecord, "correctness") == {FIRST}
        assert node.cards(BenchmarkRecord, "benchmark") == {FIRST}
        platform = read_record(PlatformRecord, node.box.results / PLATFORMS.path("h100"))
        assert platform.device.gpu.uuid == FIRST
        assert node.contradictions() == []

    def test_a_job_that_ran_on_a_card_it_was_not_granted_fails(self, node: Node) -> None:
        node.job("correctness", FIRST)
        with pytest.raises(CheckFailed, match=f"was given GPU {FIRST}, and ran on {SECOND}"):
            node.job("benchmark", FIRST, ran_on=SECOND)
        node.box.units()
        node.job("benchmark", FIRST)
        assert sorted(node.box.units()) == sorted(("benchmark", name, FIRST) for name in NAMES)
        assert node.contradictions() == []


def test_a_projects_code_changes_neither_the_checkout_nor_what_is_kept(tmp_path, monkeypatch):
    """Its launcher, rules and claims lie there; and what earlier runs proved."""
    places, runner = [], Steps._runner
    monkeypatch.setattr(Steps, "_runner", lambda self: places.append(runner(self)) or places[-1])
    node = Node(tmp_path, monkeypatch)
    node.job("platform", FIRST)
    root = node.box.root
    assert {root, cache_folder(root)} <= set(places[-1].protected)

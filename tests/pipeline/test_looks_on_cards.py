"""Further looks where a card is lost for a while, and where the user bounds its time."""

from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.stages import BENCHMARKS
from assay.judging.case import Case
from assay.pipeline import gpu_steps
from assay.pipeline.plan import make_plan
from assay.pipeline.run_files import bind_run
from assay.records.measurements import BenchmarkRecord
from tests.pipeline import test_granted_cards
from tests.pipeline.box import NAMES, Box
from tests.pipeline.test_granted_cards import FIRST, Node

HANGS = ("duel_a", "duel_b")
LOOKED = "[3, 5, 8]"


class BoxWithLooks(Box):
    """A box whose protocol is a sequential design."""

    def __init__(self, folder: Path, *given: object, **named: object) -> None:
        super().__init__(folder, *given, **named)  # type: ignore[arg-type]
        path = self.root / "config" / "protocols.yaml"
        path.write_text(path.read_text().replace("processes: 5", f"processes: {LOOKED}"))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setattr(test_granted_cards, "Box", BoxWithLooks)
    monkeypatch.setattr("assay.pipeline.hanging.hanging", hang_until_the_last_look)
    node = Node(tmp_path, monkeypatch)
    node.job("platform", FIRST)
    node.job("correctness", FIRST)
    return node


def hang_until_the_last_look(case: Case, target: str) -> set[str]:
    return {name for name in HANGS if (target, name) in case.evidence.benchmarks}


def record(node: Node, name: str) -> BenchmarkRecord:
    return read_record(BenchmarkRecord, node.box.results / BENCHMARKS.path("h100", name))


def ran(node: Node) -> dict[str, int]:
    return {name: len(record(node, name).processes) for name in HANGS}


def with_minutes(node: Node, minutes: float | None) -> None:
    catalog = load_catalog(node.box.root)
    request = node.request.model_copy(update={"gpu_minutes": minutes})
    bind_run(node.box.root, catalog, request, make_plan(catalog, request))


def test_what_hangs_is_measured_to_the_last_look_and_once(node: Node) -> None:
    node.box.units()
    node.job("benchmark", FIRST)
    assert ran(node) == dict.fromkeys(HANGS, 8)
    assert len(node.box.units()) == len(NAMES) + 2 * len(HANGS)
    node.job("benchmark", FIRST)
    assert node.box.units() == []
    assert [process.index for process in record(node, "duel_a").processes] == list(range(8))


def test_looks_that_a_lost_card_finished_are_taken_up(node, monkeypatch):
    real = gpu_steps.MeasuringSteps._next_looks

    def lose(self: gpu_steps.MeasuringSteps, *given: object) -> object:
        found = real(self, *given)  # type: ignore[arg-type]
        node.box.say("lost", "benchmark.duel_b")
        return found

    with monkeypatch.context() as losing, pytest.raises(MissingEnvironment):
        losing.setattr(gpu_steps.MeasuringSteps, "_next_looks", lose)
        node.job("benchmark", FIRST)
    node.box.say("lost")
    node.box.say("held")
    node.box.units()
    node.job("benchmark", FIRST)
    assert sorted(name for _, name, _ in node.box.units()) == ["duel_a", "duel_b", "duel_b"]
    assert ran(node) == dict.fromkeys(HANGS, 8)
    assert node.contradictions() == []


def test_the_bound_is_of_the_card_and_takes_nothing_that_was_measured(node: Node) -> None:
    # Each record takes 0.12 s of the stand-in's: the first looks of all fill the time.
    with_minutes(node, len(NAMES) * 0.12 / 60)
    node.job("benchmark", FIRST)
    assert ran(node) == dict.fromkeys(HANGS, 3)
    assert "GPU minutes do not hold a look of about 2 s" in record(node, "duel_a").remarks[-1]
    with_minutes(node, None)
    node.job("benchmark", FIRST)
    assert ran(node) == dict.fromkeys(HANGS, 8)
    node.box.units()
    with_minutes(node, 1e-4)
    node.job("benchmark", FIRST)
    assert node.box.units() == []
    assert ran(node) == dict.fromkeys(HANGS, 8)

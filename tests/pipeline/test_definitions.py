"""The measurements that a change makes again, and those it leaves alone."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.evidence.stages import TARGET_STAGES
from assay.pipeline.definitions import PACKAGE, ROOMS, START, Definitions, code_digest, imported
from assay.pipeline.plan import make_plan
from assay.shared.job import TASKS
from tests.report_fixtures import make_request, provision, write_repository

MODULES = {e.stage.value: TASKS[e.task].full_module for e in TARGET_STAGES if e.task}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the device side's source, free to be changed before its first digest."""
    copy = tmp_path / "assay"
    copy.mkdir()
    shutil.copy(PACKAGE / "__init__.py", copy)
    for room in ROOMS:
        shutil.copytree(PACKAGE / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def changed_by(package: Path, path: str, edit: Callable[[str], str]) -> set[str]:
    """The stages whose code is another one after an edit of one file."""
    edited = package.parent / "edited" / package.name
    shutil.copytree(package, edited)
    before = (edited / path).read_text()
    assert edit(before) != before
    (edited / path).write_text(edit(before))
    return {
        stage
        for stage, module in MODULES.items()
        if code_digest((START, module), package) != code_digest((START, module), edited)
    }


def with_statement(source: str) -> str:
    return f"{source}\nASSAY_TEST = 1\n"


class TestCode:
    """Exactly the code that made a record."""

    def test_an_edit_of_one_task_concerns_that_task_alone(self, package: Path) -> None:
        assert changed_by(package, "device/tasks/cheats.py", with_statement) == {"cheats"}

    def test_a_file_of_c_belongs_to_the_module_beside_it(self, package: Path) -> None:
        edited = changed_by(package, "device/timing/turn.c", lambda source: source + "\n")
        assert edited == {"benchmark", "stopwatch", "cheats"}

    def test_every_module_of_the_device_side_belongs_to_a_stage(self) -> None:
        """A module that no stage's imports reach is code whose change would go unnoticed."""
        reached = set(imported([START, *MODULES.values()]).values())
        device = {path for path in (PACKAGE / "device").rglob("*.py") if path.stem != "__init__"}
        assert device == reached & device


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


def definitions(root: Path, kind: str = "device") -> Definitions:
    catalog = load_catalog(root)
    request = make_request("demo", [provision(kind=kind)], tuple(catalog.sources))
    return Definitions(catalog, request, make_plan(catalog, request).targets[0])


@pytest.mark.parametrize(
    ("path", "old", "new", "again"),
    [
        ("judging.yaml", "absolute_margin: 0.08", "absolute_margin: 0.09", False),
        ("judging.yaml", "correctness_seeds: [", "correctness_seeds: [77, ", True),
        ("protocols.yaml", "blocks: ", "blocks: 1", True),
        ("workloads/demo.yaml", "seed: ", "seed: 1", True),
        ("comparisons/demo.yaml", "title: ", "title: New ", False),
        ("targets/h100.yaml", "memory_gb_per_s: ", "memory_gb_per_s: 1", False),
        ("targets/h100.yaml", "product_pattern: ", "product_pattern: x", True),
    ],
)
def test_measurements_rest_on_nothing_that_only_judging_reads(root, path, old, new, again):
    before, file = definitions(root).whole(), root / "config" / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    assert (definitions(root).whole() != before) == again


def test_where_figures_come_from_concerns_everything(root: Path) -> None:
    here, none = definitions(root), definitions(root, "none")
    assert here.whole() != none.whole()
    assert all(here.measurement(entry) != none.measurement(entry) for entry in TARGET_STAGES)

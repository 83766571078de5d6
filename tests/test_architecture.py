"""The layers of the house and what each may touch, read off the source text.

Imports are followed through every module: a rule that holds for a module holds for all that it
brings along.
"""

import ast
import sys
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "assay"

LAYERS = (
    "cli", "importing", "pipeline", "report", "findings", "verification", "measuring", "images",
    "judging", "building", "evidence", "catalog", "runtimes", "device", "ops", "statistics",
    "frames", "base", "records", "shared",
)  # fmt: skip
"""From the top: a package imports itself and packages further down."""
DEVICE_ROOMS = ("__main__", "tasks", "timing", "kernels", "worker")
"""The same within ``device``."""

BOOTSTRAP = {"assay.base.checkout_root", "assay.base.errors",
             "assay.base.isolation", "assay.base.launcher",
             "assay.base.pip_locks", "assay.base.printable", "assay.base.progress",
             "assay.base.signals", "assay.base.writable",
             "assay.shared.counting",
             "assay.shared.errors",
             "assay.shared.files",
             "assay.shared.processes"}  # fmt: skip
"""Run before anything is installed."""
WORLD = {
    "multiprocessing", "os", "pathlib", "random", "shutil", "signal", "socket",
    "subprocess", "tempfile", "threading", "time",
}  # fmt: skip
PURE_LAYERS = {"findings", "judging", "statistics", "frames"}
"""No files, no clock, no processes, no device."""
PURE = {"assay.catalog.model", "assay.evidence.model", "assay.evidence.outcomes",
        "assay.evidence.stages", "assay.shared.flops",
        "assay.shared.kernel_choice", "assay.shared.limits", "assay.shared.sparsity"}  # fmt: skip
DEVICE_LIBRARIES = {"torch", "pynvml", "triton"}
SHARED_LIBRARIES = {"numpy"}
"""What ``shared`` may import beside the standard library."""


def module_name(path: Path, package: Path = PACKAGE) -> str:
    """assay.judging.case for judging/case.py, assay.judging for judging/__init__.py."""
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(source: str, modules: Iterable[str]) -> set[str]:
    """Full names of what a source imports anywhere; ``from assay import x`` is assay.x."""
    known, found = set(modules), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in known else node.module)
    return found


@cache
def direct(name: str) -> frozenset[str]:
    return frozenset(imports_of(MODULES[name].read_text(), MODULES))


@cache
def reached(name: str) -> frozenset[str]:
    """Modules of ours that an import of ``name`` brings along, itself among them."""
    found, waiting = {name}, [name]
    while waiting:
        current = waiting.pop()
        ours = {each for each in direct(current) if each in MODULES}
        # An import of a.b.c runs a/__init__.py and a/b/__init__.py.
        parents = {each.rsplit(".", depth)[0] for each in ours for depth in (1, 2)}
        for each in (ours | (parents & MODULES.keys())) - found:
            found.add(each)
            waiting.append(each)
    return frozenset(found)


def layer(name: str) -> str:
    """judging for assay.judging.case; empty for the package itself."""
    return name.split(".")[1] if "." in name else ""


def foreign(name: str) -> set[str]:
    return {each.split(".")[0] for each in direct(name)} - {"assay"}


def all_foreign(name: str) -> dict[str, str]:
    """First names of what comes along from elsewhere, each with a module that imports it."""
    return {each: via for via in sorted(reached(name)) for each in foreign(via)}


def each(*layers: str) -> pytest.MarkDecorator:
    """Run a test for every module of the layers (of all, where none is named)."""
    names = [name for name in MODULES if not layers or layer(name) in layers]
    assert names
    return pytest.mark.parametrize("name", names)


def test_every_package_is_a_layer():
    assert {layer(name) for name in MODULES} - {""} == set(LAYERS)


@each()
def test_a_layer_imports_only_layers_below_it(name: str):
    if layer(name):
        below = {"", *LAYERS[LAYERS.index(layer(name)) :]}
        assert {other for other in reached(name) if layer(other) not in below} == set()


@each("device")
def test_a_room_of_the_device_imports_only_rooms_below_it(name: str):
    room = [*name.split("."), "__main__"][2]
    below = DEVICE_ROOMS[DEVICE_ROOMS.index(room) :]
    others = {other.split(".")[2] for other in reached(name) if other.count(".") >= 2
              and layer(other) == "device"}  # fmt: skip
    assert others <= set(below)


def test_class_names_are_unique_in_the_package():
    homes: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_no_module_imports_itself_through_others():
    """Packages' own ``__init__`` are left out: to offer what modules below define is their job."""
    modules = {name: path for name, path in MODULES.items() if path.name != "__init__.py"}
    order = TopologicalSorter({name: direct(name) & modules.keys() for name in modules})
    order.prepare()  # raises CycleError, which names the cycle


@pytest.mark.parametrize("name", [n for n in MODULES if layer(n) in PURE_LAYERS or n in PURE])
def test_pure_modules_touch_no_world(name: str):
    touched = {lib: via for lib, via in all_foreign(name).items() if lib in WORLD}
    assert touched == {}
    for other in reached(name):
        assert not {"now", "utcnow", "today"} & {
            node.attr
            for node in ast.walk(ast.parse(MODULES[other].read_text()))
            if isinstance(node, ast.Attribute)
        }


@each("records")
def test_records_know_only_records_and_what_is_shared(name: str):
    assert {layer(other) for other in reached(name)} <= {"", "records", "shared"}


@each("shared")
def test_both_pythons_can_read_what_is_shared(name: str):
    assert all_foreign(name).keys() <= set(sys.stdlib_module_names) | SHARED_LIBRARIES


@each("ops")
def test_operators_need_nothing_that_a_user_of_pytorch_lacks(name: str):
    assert {layer(other) for other in reached(name)} <= {"", "ops", "shared"}
    assert all_foreign(name).keys() <= set(sys.stdlib_module_names) | {"numpy", "torch"}


@each("device")
def test_the_device_side_needs_nothing_of_the_host(name: str):
    assert {layer(other) for other in reached(name)} <= {"", "device", "ops", "shared"}
    assert not all_foreign(name).keys() & {"pydantic", "yaml"}


@each(*(name for name in LAYERS if name not in ("device", "ops")))
def test_gpu_libraries_stay_on_the_device_side(name: str):
    assert not {layer(other) for other in reached(name)} & {"device", "ops"}
    assert not all_foreign(name).keys() & DEVICE_LIBRARIES


@each(*(name for name in LAYERS if name not in ("images", "runtimes")))
def test_only_images_and_runtimes_talk_to_an_engine(name: str):
    assert "docker" not in foreign(name)


@each()
def test_only_the_workflow_imports_snakemake(name: str):
    assert "snakemake" not in foreign(name)


@each("report")
def test_the_report_never_judges(name: str):
    assert not {"assay.judging.judge", "assay.judging.printed_figures"} & direct(name)


@pytest.mark.parametrize("name", ["sign", "manifest", "attestation"])
def test_the_signer_never_renders(name: str):
    found = f"assay.verification.{name}"
    assert "report" not in {layer(other) for other in reached(found)}
    assert not all_foreign(found).keys() & {"jinja2", "matplotlib"}


@pytest.mark.parametrize("name", sorted(BOOTSTRAP))
def test_the_launcher_runs_before_anything_is_installed(name: str):
    assert reached(name) <= BOOTSTRAP | {"assay", "assay.base", "assay.shared"}
    assert all_foreign(name).keys() <= set(sys.stdlib_module_names)

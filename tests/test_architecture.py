"""The import rules of the design, read off the source text."""

import ast
import sys
from collections.abc import Set
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "assay"

BOOTSTRAP = {"errors", "progress", "pinned", "launcher"}
"""Run before anything is installed."""
PURE = {
    "agreement", "audit", "conduct", "flops", "intervals", "judge", "judging", "modes", "patterns",
    "roofline", "simulation", "simulation_worst", "stats", "summary", "sweeps", "tuning", "turns",
}  # fmt: skip
"""No files, no clock, no processes, no device."""
STAGES = {
    "build",
    "bundle",
    "image",
    "inspect_package",
    "judge",
    "measure",
    "plan",
    "platform_probe",
    "profile",
    "rebuild",
    "recorded",
    "report",
    "sign",
    "verify",
}
COMPOSITION = {
    "cli", "compiler_place", "dag", "doctor", "kernel_set", "make_bundle", "measuring_parts",
    "measuring_steps", "request", "run", "steps", "tune",
}  # fmt: skip
"""Modules that put stages together; nothing else may know them."""
STAGE_EXCEPTIONS = {
    ("verify", "judge"),  # to verify is to judge the raw samples again
    ("recorded", "verify"),  # evidence is taken over only from a report that verifies
}
WORLD = {
    "datetime",
    "os",
    "pathlib",
    "random",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "time",
}
DEVICE_LIBRARIES = {"torch", "pynvml", "triton"}


def imports(path: Path) -> set[str]:
    """Full names of the modules a file imports anywhere, ``from assay import x`` included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "assay":
                found |= {f"assay.{alias.name}" for alias in node.names}
    return found


def top(path: Path) -> str:
    """First name below the package: ``stats`` for stats.py, ``judging`` for judging/base.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def ours(names: set[str]) -> set[str]:
    """First names below the package among imported modules."""
    return {name.split(".")[1] for name in names if name.startswith("assay.")}


FILES = sorted(PACKAGE.rglob("*.py"))


def each(*layers: Set[str], but: Set[str] = frozenset()) -> pytest.MarkDecorator:
    """Run a test for every file whose first name stands in ``layers`` (all, when none is given)."""
    wanted = set().union(*layers)
    files = [path for path in FILES if top(path) not in but and (not layers or top(path) in wanted)]
    assert files
    return pytest.mark.parametrize(
        "path", files, ids=[str(path.relative_to(PACKAGE)) for path in files]
    )


ALL = {top(path) for path in FILES}


def test_the_rules_name_modules_that_exist():
    assert ALL >= BOOTSTRAP | PURE | STAGES | COMPOSITION


@each({"records"})
def test_records_know_only_records(path: Path):
    names = {name for name in imports(path) if name.startswith("assay")}
    assert {name for name in names if not name.startswith("assay.records")} == set()


@each(STAGES)
def test_stages_do_not_import_each_other(path: Path):
    stage = top(path)
    others = (ours(imports(path)) & STAGES) - {stage}
    assert {(stage, other) for other in others} <= STAGE_EXCEPTIONS


@each(but=COMPOSITION)
def test_only_composition_knows_composition(path: Path):
    assert ours(imports(path)) & COMPOSITION == set()


@each(but=STAGES | COMPOSITION)
def test_what_stages_rest_on_knows_no_stage(path: Path):
    assert ours(imports(path)) & STAGES == set()


@each(PURE)
def test_pure_modules_touch_no_world(path: Path):
    assert {name.split(".")[0] for name in imports(path)} & WORLD == set()
    assert ours(imports(path)) & {"device_link", "progress", "toolchain"} == set()


@each(but={"device", "ops"})
def test_gpu_libraries_stay_on_the_device_side(path: Path):
    names = imports(path)
    assert {name.split(".")[0] for name in names} & DEVICE_LIBRARIES == set()
    assert not ours(names) & {"device", "ops"}


@each({"ops"})
def test_operators_need_nothing_that_a_user_of_pytorch_lacks(path: Path):
    names = imports(path)
    foreign = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert foreign <= {"assay", "torch"}
    assert ours(names) <= {"device", "ops", "tuning"}


@each({"device"})
def test_the_device_side_needs_nothing_of_the_host_but_pure_modules(path: Path):
    assert ours(imports(path)) <= {"device", "flops", "ops", "patterns", "tuning", "turns"}


@each({"runtimes"})
def test_runtimes_rest_on_records_and_nothing_above(path: Path):
    assert ours(imports(path)) <= {"errors", "io", "progress", "records", "runtimes"}


@each(but={"images", "runtimes"})
def test_only_images_and_runtimes_talk_to_an_engine(path: Path):
    assert "docker" not in {name.split(".")[0] for name in imports(path)}


@each()
def test_only_the_workflow_imports_snakemake(path: Path):
    assert not {name for name in imports(path) if name.split(".")[0] == "snakemake"}


@each({"report"})
def test_the_report_never_judges(path: Path):
    assert ours(imports(path)) & {"judge", "judging", "audit"} == set()


@each({"sign", "manifest", "attestation"})
def test_the_signer_never_renders(path: Path):
    assert "report" not in ours(imports(path))
    assert {name.split(".")[0] for name in imports(path)} & {"jinja2", "matplotlib"} == set()


@each(BOOTSTRAP)
def test_the_launcher_runs_before_anything_is_installed(path: Path):
    names = imports(path)
    foreign = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"assay"}
    assert foreign == set()
    assert ours(names) <= BOOTSTRAP


class TestTheRulesThemselves:
    """The scanner sees what the rules are about."""

    def test_imports_inside_functions_count(self, tmp_path: Path):
        file = tmp_path / "x.py"
        file.write_text("def f():\n    import torch.nn\n    from assay import judge\n")
        assert imports(file) == {"torch.nn", "assay", "assay.judge"}

    def test_names_below_the_package(self):
        assert ours({"assay.records.base", "assay", "os.path"}) == {"records"}

"""Markers for what a test needs of the machine, and the rule that a required part is never skipped.

``ASSAY_TEST_REQUIRE="slurm torch compiler"`` names parts that must run: a run in which one of
their tests was skipped fails, however many others passed.
"""

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.containers import engines
from tests.slurm import cluster

if TYPE_CHECKING:  # a device environment runs tests/device and has no pydantic
    from assay.building.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[1]


def _no_torch() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed (ASSAY_TEST_REQUIRE=torch ./assay test installs it)"
    return None


def _no_compiler() -> str | None:
    return None if shutil.which("g++") else "there is no g++ (apt-get install g++)"


PARTS: dict[str, tuple[str, Callable[[], str | None]]] = {
    "slurm": ("needs Slurm's daemons and root", cluster.missing),
    "torch": ("needs PyTorch (its CPU build will do)", _no_torch),
    "compiler": ("compiles with nvcc, which needs g++", _no_compiler),
    "docker": ("starts a Docker Engine of its own", engines.missing_docker),
    "podman": ("starts a Podman service of its own", engines.missing_podman),
    "apptainer": ("runs Apptainer", engines.missing_apptainer),
}
"""Marker to its description and the question why it cannot run here (None when it can)."""

_required = pytest.StashKey[frozenset[str]]()
_skipped = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; refuse to start when a required part cannot run at all."""
    for name, (description, _) in PARTS.items():
        config.addinivalue_line("markers", f"{name}: {description}")
    required = frozenset(os.environ.get("ASSAY_TEST_REQUIRE", "").split())
    if unknown := sorted(required - PARTS.keys()):
        raise pytest.UsageError(f"ASSAY_TEST_REQUIRE names unknown parts: {', '.join(unknown)}")
    for name in sorted(required):
        if reason := PARTS[name][1]():
            raise pytest.UsageError(f"the required part '{name}' cannot run: {reason}")
    config.stash[_required] = required
    config.stash[_skipped] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, saying why; tests of the device side all need PyTorch."""
    reasons = {name: why() for name, (_, why) in PARTS.items()}
    for item in items:
        for name, reason in reasons.items():
            if reason and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))


class _Watcher:
    """Notes every skipped test of a required part."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or getattr(report, "wasxfail", None) is not None:
            return
        parts = {name for name in PARTS if name in getattr(report, "keywords", {})}
        path = report.nodeid.replace(os.sep, "/")
        if "tests/device/" in path or "tests/ops/" in path:
            parts.add("torch")
        if parts & self.config.stash[_required]:
            self.config.stash[_skipped].append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.note(report)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Watch reports where they all arrive: in the one process, or in xdist's controller."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Watcher(session.config), "assay-watcher")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A skipped required test turns success into failure."""
    if session.config.stash.get(_skipped, []) and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name the tests whose skipping failed the run."""
    for nodeid in config.stash.get(_skipped, []):
        terminalreporter.write_line(f"REQUIRED BUT SKIPPED {nodeid}", red=True)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def toolchain() -> "Toolchain":
    """The pinned compiler, unpacked; skips where it cannot be had."""
    from assay.base.errors import MissingEnvironment
    from assay.building.toolchain import ensure_toolchain

    try:
        return ensure_toolchain(ROOT)
    except MissingEnvironment as error:
        pytest.skip(str(error))

"""Markers for what a test needs of the machine, and the rule that a required part is never skipped.

``ASSAY_TEST_REQUIRE="slurm torch compiler"`` names parts that must run: a run in which one of
their tests was skipped fails, however many others passed.
"""

import importlib.util
import os
import shutil
import signal
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assay.shared.counting import counted
from tests import browser
from tests.containers import engines
from tests.remote import sshd
from tests.slurm import cluster
from tests.torch_modules import needs_torch

if TYPE_CHECKING:  # a device environment runs tests/device and has no pydantic
    from assay.building.toolchain import Toolchain
    from assay.catalog.model import Catalog

if importlib.util.find_spec("hypothesis") is not None:  # that environment lacks it too
    from hypothesis import settings

    settings.register_profile("assay", deadline=None)  # a busy machine is no failure
    settings.load_profile("assay")

ROOT = Path(__file__).resolve().parents[1]


def _no_module(module: str, part: str) -> Callable[[], str | None]:
    """Return the question whether a package is missing that a lock of the part's name brings."""
    remedy = f"ASSAY_TEST_REQUIRE={part} ./assay test installs it"
    return lambda: remedy if importlib.util.find_spec(module) is None else None


def _no_program(program: str, package: str) -> Callable[[], str | None]:
    """Return the question whether a program of a Debian package is missing."""
    return lambda: None if shutil.which(program) else f"apt-get install {package}"


def _no_root() -> str | None:
    return None if os.geteuid() == 0 else "start the suite as root"


PARTS: dict[str, tuple[str, str, Callable[[], str | None]]] = {
    "ssh": ("sshd", "starts an sshd on loopback", sshd.missing),
    "slurm": ("Slurm", "needs Slurm's daemons and root", cluster.missing),
    "torch": ("PyTorch", "needs PyTorch (a GPU is not needed)", _no_module("torch", "torch")),
    "parquet": ("PyArrow", "reads and writes Parquet", _no_module("pyarrow", "parquet")),
    "docs": ("MkDocs", "builds the documents' site", _no_module("mkdocs", "docs")),
    "compiler": ("g++", "compiles with nvcc, which needs g++", _no_program("g++", "g++")),
    "docker": ("Docker", "starts a Docker Engine of its own", engines.missing_docker),
    "podman": ("Podman", "starts a Podman service of its own", engines.missing_podman),
    "browser": (
        "Chromium with axe-core",
        "opens pages in Chromium and asks axe-core",
        browser.missing,
    ),
    "apptainer": ("Apptainer", "runs Apptainer", engines.missing_apptainer),
    "root": ("root's rights", "mounts, or becomes another user", _no_root),
    "mmdebstrap": ("mmdebstrap", "makes images of Debian", _no_program("mmdebstrap", "mmdebstrap")),
    "cosign": (
        "cosign",
        "has cosign verify signatures",
        _no_program("cosign", "cosign, in Debian from 13 on"),
    ),
}
"""Marker to a name for people, a description, and the question why it cannot run here (or None)."""
COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which a caller asks for colour where there is no terminal."""

CORE_MINUTES = 26
"""What the suite takes one core of a server of 2024, without the parts that need daemons."""

_required = pytest.StashKey[frozenset[str]]()
_skipped = pytest.StashKey[list[str]]()


def _take_signals() -> None:
    """Undo what ``nohup`` or a shell's ``&`` set: programs under test inherit ignored signals."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _drop_launcher_variables() -> None:
    """Forget what ``./assay test`` set for this process; programs under test get their own."""
    for name in ("PYTHONPATH", "PYTHONSAFEPATH", "ASSAY_TYPED"):
        os.environ.pop(name, None)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; refuse to start when a required part cannot run at all."""
    _take_signals()
    _drop_launcher_variables()
    for name, (_, description, _) in PARTS.items():
        config.addinivalue_line("markers", f"{name}: {description}")
    required = frozenset(os.environ.get("ASSAY_TEST_REQUIRE", "").split())
    if unknown := sorted(required - PARTS.keys()):
        raise pytest.UsageError(f"ASSAY_TEST_REQUIRE names unknown parts: {', '.join(unknown)}")
    for name in sorted(required):
        if reason := missing_part(name):
            raise pytest.UsageError(f"the required part '{name}' cannot run: {reason}")
    config.stash[_required] = required
    config.stash[_skipped] = []


def missing_part(name: str) -> str | None:
    """Why a part cannot run here, as "no Docker here (...)"; None when it can."""
    title, _, why = PARTS[name]
    reason = why()
    return None if reason is None else f"no {title} here ({reason})"


class _NeedsTorch(pytest.Module):
    """A module that cannot be imported here; collecting it reports the skip."""

    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip(str(missing_part("torch")), allow_module_level=True)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Stand in for modules that import PyTorch where there is none."""
    if needs_torch(module_path) and missing_part("torch"):
        return _NeedsTorch.from_parent(parent, path=module_path)
    return None


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs PyTorch; skip what cannot run here, saying why."""
    reasons = {name: missing_part(name) for name in PARTS}
    for item in items:
        if needs_torch(item.path):
            item.add_marker("torch")
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
        if needs_torch(ROOT / report.nodeid.partition("::")[0]):
            parts.add("torch")
        lacking = {name for name in parts if missing_part(name)}  # none: it gave up by itself
        if (lacking or parts) & self.config.stash[_required]:
            self.config.stash[_skipped].append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.note(report)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Watch reports where they all arrive: in the one process, or in xdist's controller.

    Before the whole suite, say how long it takes and what it skips.
    """
    config = session.config
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(_Watcher(config), "assay-watcher")
    chosen = config.option.keyword or config.option.markexpr or config.option.collectonly
    if config.args_source is config.ArgsSource.TESTPATHS and not chosen:
        for line in first_lines(getattr(config.option, "numprocesses", None) or 1):
            config.get_terminal_writer().line(line)


def first_lines(processes: int) -> list[str]:
    """Return what is said before the whole suite runs, for a terminal of 80 columns."""
    minutes = max(1, round(CORE_MINUTES / processes))
    lines = [
        f"the whole suite in {counted(processes, 'process', 'processes')}: about "
        f"{counted(minutes, 'minute')}, longer on a busy machine"
    ]
    skips = [reason for name in PARTS if (reason := missing_part(name))]
    if skips:
        lines.append("tests that this machine cannot run are skipped:")
    for reason in skips:
        lines += textwrap.wrap(reason, 78, initial_indent="  ", subsequent_indent="    ")
    return lines


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


@pytest.fixture(scope="session", autouse=True)
def colourless() -> Iterator[None]:
    """Have what the tests start print without colour and 80 columns wide, whoever looks on.

    pytest itself made up its mind about colour before; it goes on as it began.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in COLOURS:
            patch.delenv(name, raising=False)
        patch.setenv("NO_COLOR", "1")
        patch.setenv("TERM", "dumb")
        patch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(autouse=True)
def own_folder_of_what_is_kept() -> Iterator[None]:
    """End what a command that a test runs in this process says of its cache with that test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", "")  # as good as none, and undone whatever was set since
        yield


@pytest.fixture(scope="session")
def root() -> Path:
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


@pytest.fixture(scope="session")
def catalog() -> "Catalog":
    """This repository's own: for tests that change nothing of it."""
    from assay.catalog.load import load_catalog

    return load_catalog(ROOT)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The signed report of a synthetic run, in its repository: for tests that change nothing."""
    from tests.report_fixtures import signed_report, write_repository

    return signed_report(write_repository(tmp_path_factory.mktemp("signed") / "repo"))


@pytest.fixture
def own_report(report: Path, tmp_path: Path) -> Path:
    """A copy of it with its repository and key, for a test that changes it."""
    base = shutil.copytree(report.parents[2], tmp_path / "base")
    return Path(base, *report.parts[-3:])


@pytest.fixture(scope="session")
def full_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that nobody signed and that has it all: for tests that change nothing."""
    from tests.report.told import told_report

    return told_report(tmp_path_factory.mktemp("full") / "repo")

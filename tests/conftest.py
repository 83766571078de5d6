"""Markers for what a test needs of the machine, and the rule that a required part is never skipped.

``ASSAY_TEST_REQUIRE="slurm torch compiler"`` names parts that must run: a run in which one of
their tests was skipped fails, however many others passed.
"""

import importlib.util
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import browser
from tests.containers import engines
from tests.remote import sshd
from tests.slurm import cluster

if TYPE_CHECKING:  # a device environment runs tests/device and has no pydantic
    from assay.building.toolchain import Toolchain

if importlib.util.find_spec("hypothesis") is not None:  # that environment lacks it too
    from hypothesis import settings

    settings.register_profile("assay", deadline=None)  # a busy machine is no failure
    settings.load_profile("assay")

ROOT = Path(__file__).resolve().parents[1]


def _no_torch() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "ASSAY_TEST_REQUIRE=torch ./assay test installs it"
    return None


def _no_parquet() -> str | None:
    if importlib.util.find_spec("pyarrow") is None:
        return "ASSAY_TEST_REQUIRE=parquet ./assay test installs it"
    return None


def _no_kubernetes() -> str | None:
    if importlib.util.find_spec("snakemake_executor_plugin_kubernetes") is None:
        return "ASSAY_TEST_REQUIRE=kubernetes ./assay test installs its plugin"
    return None


def _no_compiler() -> str | None:
    return None if shutil.which("g++") else "apt-get install g++"


PARTS: dict[str, tuple[str, str, Callable[[], str | None]]] = {
    "ssh": ("sshd", "starts an sshd on loopback", sshd.missing),
    "slurm": ("Slurm", "needs Slurm's daemons and root", cluster.missing),
    "torch": ("PyTorch", "needs PyTorch (its CPU build will do)", _no_torch),
    "kubernetes": ("Kubernetes", "makes pods with Snakemake's plugin", _no_kubernetes),
    "parquet": ("PyArrow", "reads and writes Parquet", _no_parquet),
    "compiler": ("g++", "compiles with nvcc, which needs g++", _no_compiler),
    "docker": ("Docker", "starts a Docker Engine of its own", engines.missing_docker),
    "podman": ("Podman", "starts a Podman service of its own", engines.missing_podman),
    "browser": ("Chromium", "opens pages in Chromium and asks axe-core", browser.missing),
    "apptainer": ("Apptainer", "runs Apptainer", engines.missing_apptainer),
}
"""Marker to a name for people, a description, and the question why it cannot run here (or None)."""
COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which a caller asks for colour where there is no terminal."""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, saying why; tests of the device side all need PyTorch."""
    reasons = {name: missing_part(name) for name in PARTS}
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
    """Say why tests were skipped, and name those whose skipping failed the run."""
    lines = skip_lines(terminalreporter.stats.get("skipped", []))
    if lines:
        terminalreporter.write_line("\nskipped, and why:")
    for line in lines:
        terminalreporter.write_line(f"  {line}")
    for nodeid in config.stash.get(_skipped, []):
        terminalreporter.write_line(f"REQUIRED BUT SKIPPED {nodeid}", red=True)


def skip_lines(reports: list[pytest.TestReport | pytest.CollectReport]) -> list[str]:
    """One line a reason, the most frequent first: "no Docker here: 61 (what it takes)".

    A module that could not be collected counts as a file: nobody knows how many tests it holds.
    """
    tests: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for report in reports:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        counts = files if isinstance(report, pytest.CollectReport) else tests
        counts[reason.removeprefix("Skipped: ")] += 1
    lines = []
    for reason, _ in (tests + files).most_common():
        what, bracket, remedy = reason.partition(" (")
        told = [str(tests[reason])] if tests[reason] else []
        told += [f"{files[reason]} whole file{'s'[: files[reason] != 1]}"] if files[reason] else []
        lines.append(f"{what}: {' and '.join(told)}{bracket}{remedy}")
    return lines


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


@pytest.fixture(scope="session", autouse=True)
def own_cache_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have cached builds sealed with a key of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE_KEY", str(tmp_path_factory.mktemp("seal") / "key"))
        yield


@pytest.fixture(autouse=True)
def own_folder_of_what_is_kept() -> Iterator[None]:
    """End what a command that a test runs in this process says of its cache with that test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", "")  # as good as none, and undone whatever was set since
        yield


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

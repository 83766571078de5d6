"""A command that is killed outright: nothing goes on for nobody, and its run can be gone on with.

With the stand-in for the device's Python of the batches' tests, and Snakemake itself.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.records.manifest import ATTESTATION, VERDICTS
from assay.records.verdicts import Verdict, VerdictsFile
from assay.runtimes import leftovers
from tests.pipeline.test_batched_workflow import NAMES, Checkout
from tests.report_fixtures import cheats, sanitizer, stopwatch

PATIENCE_S = 240.0


def waited(condition: Callable[[], object], seconds: float = PATIENCE_S) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= limit:
            return False
        time.sleep(0.02)
    return True


class Killable:
    """A checkout whose runs are started, killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.checkout = Checkout(folder)
        catalog = load_catalog(self.checkout.root)
        for name in NAMES:
            self.checkout.answer("stopwatch", name, stopwatch(catalog, name, "h100"))
        self.checkout.answer("cheats", "cheats", cheats("h100"))
        self.checkout.answer("sanitize", "sanitize", sanitizer("h100", "sm_90a", ()))
        self.folder, self.root = folder, self.checkout.root

    def run(self, name: str) -> "Run":
        return Run(self, name)

    def said(self) -> str:
        return (self.folder / "said").read_text()


@dataclass(frozen=True)
class Run:
    """One run of it."""

    place: Killable
    name: str

    def start(self) -> "subprocess.Popen[bytes]":
        folder, root = self.place.folder, self.place.root
        environment = {
            **os.environ,
            "ASSAY_ROOT": str(root),
            "ASSAY_LOCK_DIR": str(folder / "locks"),
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(root / "src"),
        }
        words = ["reproduce", "--run", self.name, "--cores", "2", "--target", "h100"]
        words += ["--device-python", str(folder / "python"), "--signing-key", str(folder / "key")]
        with (folder / "said").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "assay.cli", *words],
                cwd=root, env=environment, stdout=log, stderr=log,
            )  # fmt: skip

    def finish(self) -> None:
        """Start it and have it end well."""
        assert self.start().wait(PATIENCE_S) == 0, self.place.said()[-4000:]

    def left(self) -> list[int]:
        return leftovers.leftovers(self.folder)

    def verdicts(self) -> tuple[Verdict, ...]:
        """All that they say but when it was measured."""
        found = read_record(VerdictsFile, self.folder / VERDICTS).verdicts
        return tuple(verdict.model_copy(update={"measured_on": None}) for verdict in found)

    @property
    def folder(self) -> Path:
        return self.place.root / "results" / self.name

    @property
    def signature(self) -> Path:
        return self.place.root / "reports" / self.name / ATTESTATION


def kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def killable(tmp_path_factory: pytest.TempPathFactory) -> Killable:
    return Killable(tmp_path_factory.mktemp("killed"))


@pytest.fixture(scope="module")
def verdicts(killable: Killable) -> tuple[Verdict, ...]:
    """Those of a run that was killed while a device process worked, and gone on with."""
    slow, waiting = killable.folder / "slow", killable.folder / "waiting"
    slow.write_text("benchmark.duel_b")
    run = killable.run("once")
    process = run.start()
    assert waited(waiting.exists), killable.said()
    kill(process)
    # The stand-in sleeps for minutes: it is ended, and all that waits for it.
    assert waited(lambda: not run.left(), 60)
    assert not run.signature.exists()
    slow.unlink()
    run.finish()
    assert run.signature.is_file()
    return run.verdicts()


def test_nothing_goes_on_without_its_command(verdicts: tuple[Verdict, ...]) -> None:
    assert len(verdicts) == len(NAMES)


PARENT = """
import sys
from pathlib import Path
from assay.runtimes.base import Task
from assay.runtimes.host import HostRuntime
command = ("/bin/sh", "-c", f"echo $$ > {sys.argv[1]}; exec sleep 300")
HostRuntime().run(Task(command, Path("/"), "sleep"), None, print)
"""


def test_a_task_ends_with_a_parent_that_is_killed(tmp_path: Path, root: Path) -> None:
    told = tmp_path / "pid"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(told)],
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    assert waited(lambda: told.exists() and told.read_text().strip())
    pid = int(told.read_text())
    parent.kill()
    parent.wait()
    assert waited(lambda: not Path(f"/proc/{pid}/exe").exists(), 30)

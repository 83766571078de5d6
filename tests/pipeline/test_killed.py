"""A command that is killed outright: nothing goes on for nobody, and its run can be gone on with.

With the stand-in for the device's Python of the batches' tests, and Snakemake itself.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.records.manifest import ATTESTATION, VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.runtimes import leftovers
from tests.pipeline.test_batched_workflow import NAMES, Checkout
from tests.report_fixtures import cheats, sanitizer, stopwatch

PATIENCE_S = 240.0
RUN = "once"
PARENT = """
import sys
from pathlib import Path
from assay.runtimes.base import Task
from assay.runtimes.host import HostRuntime
command = ("/bin/sh", "-c", f"echo $$ > {sys.argv[1]}; exec sleep 300")
HostRuntime().run(Task(command, Path("/"), "sleep"), None, print)
"""


def waited(condition: Callable[[], object], seconds: float = PATIENCE_S) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= limit:
            return False
        time.sleep(0.02)
    return True


def start(checkout: Checkout) -> "subprocess.Popen[bytes]":
    folder, root = checkout.folder, checkout.root
    environment = {
        **os.environ,
        "ASSAY_ROOT": str(root),
        "ASSAY_LOCK_DIR": str(folder / "locks"),
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(root / "src"),
    }
    words = ["reproduce", "--run", RUN, "--cores", "2", "--target", "h100"]
    words += ["--device-python", str(folder / "python"), "--signing-key", str(folder / "key")]
    with (folder / "said").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "assay.cli", *words],
            cwd=root, env=environment, stdout=log, stderr=log,
        )  # fmt: skip


def test_nothing_goes_on_without_its_command_and_the_next_ends_well(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    catalog = load_catalog(checkout.root)
    for name in NAMES:
        checkout.answer("stopwatch", name, stopwatch(catalog, name, "h100"))
    checkout.answer("cheats", "cheats", cheats("h100"))
    checkout.answer("sanitize", "sanitize", sanitizer("h100", "sm_90a", ()))
    slow, said = tmp_path / "slow", tmp_path / "said"
    slow.write_text("benchmark.duel_b")
    command = start(checkout)
    assert waited((tmp_path / "waiting").exists), said.read_text()
    command.kill()
    command.wait()
    # The stand-in sleeps for minutes: it is ended, and all that waits for it.
    results = checkout.root / "results" / RUN
    signature = checkout.root / "reports" / RUN / ATTESTATION
    assert waited(lambda: not leftovers.leftovers(results), 60)
    assert not signature.exists()
    slow.unlink()
    assert start(checkout).wait(PATIENCE_S) == 0, said.read_text()[-4000:]
    assert signature.is_file()
    assert len(read_record(VerdictsFile, results / VERDICTS).verdicts) == len(NAMES)
    assert "Traceback" not in said.read_text()


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

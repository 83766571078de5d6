"""A run through Slurm that measures nothing: its figures come from a signed report.

That report is a test fixture: its samples are made up by a seeded generator and never leave the
test's temporary directory.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.records.cluster import CLUSTER_FILE
from assay.shared.parent_death import tied_to_parent
from tests.hostile import Hostile, make_hostile
from tests.library_checkout import REPOSITORY, copy_code, write_config
from tests.report_fixtures import provision, signed_report, write_run
from tests.slurm.cluster import SITE

FIXTURE = "synthetic_test_fixture"
RUN = "slurm_test"
NODES = ("l4", "h100")
"""Of the cluster's: each a target, whose GPU is of its name."""
COMPARISON = "fixture_duel"


@dataclass(frozen=True)
class RecordedRun:
    """A ``reproduce --executor slurm`` that is under way, or at its end."""

    root: Path
    fixture: Path
    key: Path
    command: "subprocess.Popen[bytes]"
    log: Path
    hostile: Hostile
    """Where it was started: an enemy's directory, which all variables lead to."""

    def told(self) -> str:
        """All that it printed, for a failing assertion."""
        return self.log.read_text()


def start_recorded(folder: Path) -> RecordedRun:
    """Start it, of a checkout in ``folder``."""
    fixture = _signed_fixture(folder)
    root = write_targets(folder / "checkout")
    copy_code(root)
    (root / CLUSTER_FILE).write_text(SITE)
    shutil.copy(REPOSITORY / "assay", root)
    hostile = make_hostile(folder)
    key, public, log = folder / "own" / "key", folder / "key.pub", folder / "said"
    words = [
        "reproduce", "--executor", "slurm", "--run", RUN,
        "--recorded", str(fixture), "--key", str(public), "--signing-key", str(key),
        "--runtime", "host", "--cores", "2",
    ]  # fmt: skip
    given = {"ASSAY_NO_VENV": "1", "ASSAY_PYTHON": sys.executable}
    with log.open("wb") as said:
        command = subprocess.Popen(
            [root / "assay", *words], cwd=hostile.place, env=hostile.environment() | given,
            stdout=said, stderr=said, preexec_fn=tied_to_parent(),
        )  # fmt: skip
    return RecordedRun(root, fixture, public, command, log, hostile)


def _signed_fixture(folder: Path) -> Path:
    """A signed report, in a repository of its own, with made-up measurements of both targets."""
    root = write_targets(folder / "recorder")
    shutil.copytree(REPOSITORY / "reports" / "templates", root / "reports" / "templates")
    write_run(root, FIXTURE, [provision(target) for target in NODES])
    return signed_report(root, FIXTURE, folder / "key")


def write_targets(root: Path) -> Path:
    """The configuration of a checkout with both targets."""
    return write_config(root, tuple(NODES), [COMPARISON], runtime="auto")

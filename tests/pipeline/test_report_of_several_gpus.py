"""``./assay reproduce`` on a box with two GPUs, to a signed report that verifies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.evidence.load import load_evidence
from tests.pipeline.test_several_gpus import H100S, Box


class Command:
    """The command line in a box's checkout."""

    def __init__(self, box: Box) -> None:
        self.box, self.key = box, box.folder / "key"
        self.environment = {
            **os.environ,
            "ASSAY_ROOT": str(box.root),
            "ASSAY_LOCK_DIR": str(box.folder / "locks"),
            "HOME": str(box.folder / "home"),
            "PYTHONPATH": str(box.root / "src"),
        }
        for name in ("ASSAY_DEVICE_PYTHON", "CUDA_VISIBLE_DEVICES"):
            self.environment.pop(name, None)

    def __call__(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "assay.cli", *map(str, words)],
            cwd=self.box.root, env=self.environment, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip

    def reproduce(self, run: str, *more: object) -> subprocess.CompletedProcess[str]:
        words = ("--cores", 2, "--device-python", self.box.python, "--signing-key", self.key)
        return self("reproduce", "--run", run, "--target", "h100", *words, *more)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    box = Box(tmp_path_factory.mktemp("box"), {"h100": H100S[:2]})
    box.say("whole")
    return Command(box)


@pytest.fixture(scope="module")
def report(command: Command) -> Path:
    told = command.reproduce("two")
    assert told.returncode == 0, told.stdout + told.stderr
    return command.box.root / "reports" / "two"


class TestTheReport:
    """Its figures are of two cards, and each says of which."""

    def test_it_verifies(self, command: Command, report: Path) -> None:
        told = command("verify", f"reports/{report.name}", "--key", f"{command.key}.pub")
        assert told.returncode == 0, told.stdout + told.stderr

    def test_one_gpu_that_is_named_measures_all(self, command: Command) -> None:
        told = command.reproduce("one", "--gpus", H100S[1])
        assert told.returncode == 0, told.stdout + told.stderr
        evidence = load_evidence(command.box.root / "reports" / "one" / "evidence")
        assert {record.gpu_uuid for record in evidence.benchmarks.values()} == {H100S[1]}

    @pytest.mark.parametrize(
        ("gpus", "words"),
        [
            ("0,first", "'first' is no GPU's number and no UUID"),
            ("0,0", "a GPU is named twice"),
            ("0,", "'' is no GPU's number and no UUID"),
        ],
    )
    def test_a_list_of_anything_else_is_refused(
        self, command: Command, gpus: str, words: str
    ) -> None:
        told = command.reproduce("none", "--gpus", gpus)
        assert told.returncode == 2
        assert words in told.stderr and told.stderr.count("\n") == 1

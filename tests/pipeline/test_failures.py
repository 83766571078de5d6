"""What a step that failed leaves, and what a further try of a cluster's job makes of it."""

import errno
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import CheckFailed
from assay.pipeline import steps
from assay.pipeline.failures import StepFailure, read_failures
from assay.pipeline.steps import run_step
from assay.shared.exit_codes import ExitCode


class Job:
    """A job of a cluster whose disk may be full."""

    place = "Slurm job 17 on node gpu07"

    def __init__(self, full: bool) -> None:
        self.full = full

    def end(self, _: Exception | None) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device", "/results/x.json")


class TestAStep:
    """In a job of a cluster."""

    def run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> StepFailure:
        class Failing:
            def __init__(self, *_: Any) -> None:
                self.job = Job(isinstance(error, OSError))

            def benchmark(self, target: str) -> None:
                self.calls.append(target)
                raise error

            def end_job(self, ended: Exception | None) -> None:
                self.job.end(ended)

            calls: list[str] = []

        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(steps, "Steps", Failing)
        arguments, log = {"target": "h100"}, "log"
        for _ in range(2):
            with pytest.raises(SystemExit):
                run_step(tmp_path, "benchmark", arguments, run_dir="results/run", log=log)
        self.tried = len(Failing.calls)
        (failure,) = read_failures(tmp_path / "results" / "run")
        return failure

    def test_its_failure_says_where_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failure = self.run(tmp_path, monkeypatch, CheckFailed("it is shared"))
        assert failure.message == "it is shared (Slurm job 17 on node gpu07)"
        assert self.tried == 1, "its second try says the same and does nothing"

    def test_a_full_disk_is_told_and_tried_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        full = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "results" / "x"))
        failure = self.run(tmp_path, monkeypatch, full)
        assert (failure.exit_code, self.tried) == (ExitCode.MACHINE_LACKS, 2)
        assert "No space left on device" in failure.message

"""What a step that failed leaves, and what a further try of a cluster's job makes of it."""

import errno
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import CheckFailed
from assay.pipeline import steps
from assay.pipeline.failures import read_failures
from assay.pipeline.steps import run_step
from assay.shared.errors import ExitCode


class Failing:
    """Steps, of which each try ends with the next of ``errors``, or well."""

    errors: list[Exception]

    def __init__(self, *_: Any) -> None:
        self.grant, self.held = "Slurm job 17 on node gpu07", dict[str, float]()

    def benchmark(self, target: str) -> None:
        if self.errors:
            raise self.errors.pop(0)


def test_a_failure_says_where_it_was_and_is_forgotten_by_a_try_that_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "results" / "x"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(steps, "Steps", Failing)
    monkeypatch.setattr(Failing, "errors", [CheckFailed("it is shared"), full], raising=False)
    told = []
    for _ in range(2):
        with pytest.raises(SystemExit):
            run_step(tmp_path, "benchmark", {"target": "h100"}, run_dir="run", log="log")
        (failure,) = read_failures(tmp_path / "run")
        told.append((failure.exit_code, failure.message))
    assert told[0] == (ExitCode.CHECK_FAILED, "it is shared (Slurm job 17 on node gpu07)")
    assert told[1][0] == ExitCode.MACHINE_LACKS
    assert "No space left on device" in told[1][1]
    run_step(tmp_path, "benchmark", {"target": "h100"}, run_dir="run", log="log")
    assert read_failures(tmp_path / "run") == []

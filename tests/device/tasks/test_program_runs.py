"""program_runs: whole output, exit codes, time-outs, telemetry."""

import sys
from dataclasses import replace

import pytest

from assay.device.tasks.program_runs import run_once, run_program
from assay.device.worker.telemetry import Recorder
from assay.shared.errors import BadJob
from assay.shared.files import sha256_file
from assay.shared.job import ProgramRunsJob
from assay.shared.specs import ArtifactSpec
from tests.device.helpers import SteadyGpu, SteadySensor
from tests.jobs import TARGET


@pytest.fixture
def recorder():
    return Recorder(SteadySensor(), 0.01)


class TestRunOnce:
    def test_keeps_both_streams_and_the_exit_code(self, recorder):
        code = "import sys; print('x' * 200_000); sys.stderr.write('oops'); sys.exit(7)"
        run = run_once([sys.executable, "-c", code], 30, recorder)
        assert run["exit_code"] == 7
        assert run["stdout"] == "x" * 200_000 + "\n"
        assert run["stderr"] == "oops"

    def test_stops_a_program_that_hangs_and_says_so(self, recorder):
        run = run_once([sys.executable, "-c", "import time; time.sleep(60)"], 0.3, recorder)
        assert run["exit_code"] < 0
        assert "stopped after 0.3 s" in run["stderr"]
        assert run["seconds"] < 10


class TestRunProgram:
    def job(self, tmp_path, sha256=None):
        program = tmp_path / "program"
        program.write_text("#!/bin/sh\necho shape $1\n")
        program.chmod(0o755)
        artifact = ArtifactSpec(str(program), sha256 or sha256_file(program))
        return ProgramRunsJob(TARGET, "cutlass_88", artifact, ("--b=1",), 3, 10.0)

    def test_record_satisfies_the_model(self, tmp_path, validated):
        record = run_program(self.job(tmp_path), SteadyGpu())
        program = validated("ProgramRecord", record)
        assert [run.stdout for run in program.runs] == ["shape --b=1\n"] * 3
        assert len(program.telemetry.at_s) >= 2

    def test_one_more_run_verifies_where_the_program_must_be_told(self, tmp_path, validated):
        """The timed runs keep their arguments as they are."""
        job = replace(self.job(tmp_path), verify=("--verify",))
        program = validated("ProgramRecord", run_program(job, SteadyGpu()))
        assert [run.stdout for run in program.runs] == ["shape --b=1\n"] * 3
        assert program.verification.arguments == ("--b=1", "--verify")
        assert program.verification.exit_code == 0

    def test_refuses_another_file(self, tmp_path):
        with pytest.raises(BadJob, match="SHA-256"):
            run_program(self.job(tmp_path, sha256="0" * 64), SteadyGpu())

"""original_runs: a stranger's program, built and run by given lines in a copy of a checkout."""

import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay.device.tasks import original_runs
from assay.device.tasks.original_runs import run_line, run_originals
from assay.shared import confinement, kept_output
from assay.shared.errors import BadJob
from assay.shared.job import OriginalRunsJob
from assay.shared.specs import Json
from tests.device.helpers import SteadyGpu
from tests.jobs import TARGET

PROGRAM = """\
#include <cstdio>
#include <cstdlib>
int main(int count, char** given) {
    std::printf("N=%s: %.1f TFLOPS\\n", count > 1 ? given[1] : "none", 607.0 + BK);
}
"""


def run_one(job: OriginalRunsJob) -> Json:
    (record,) = (make() for make in run_originals([job], SteadyGpu()))
    return record


@pytest.fixture
def job(tmp_path: Path) -> OriginalRunsJob:
    """A made-up checkout, whose build line a host compiler understands."""
    copy = tmp_path / "copy"
    (copy / "src").mkdir(parents=True)
    (copy / "src" / "winner.cpp").write_text(PROGRAM)
    return OriginalRunsJob(
        target=TARGET, source="paper", original="winner", directory=str(copy), working=".",
        file="src/winner.cpp", checkout={"files": 1, "bytes": len(PROGRAM), "sha256": "a" * 64},
        build="g++ -O1 -DBK=1 src/winner.cpp \\\n  -o winner", build_by="source",
        run="./winner 8192", run_by="user", runs=2, build_timeout_s=60.0, run_timeout_s=10.0,
    )  # fmt: skip


@pytest.mark.parametrize("file", ["src/none.cpp", "../copy/../secret"])
def test_a_file_that_is_not_in_the_checkout_is_refused(job, file):
    (Path(job.directory).parent / "secret").write_text("outside")
    with pytest.raises(BadJob, match="the checkout has no file"):
        run_one(replace(job, file=file))


class TestLines:
    def run(self, tmp_path, line, timeout_s=10.0):
        return run_line(line, tmp_path, original_runs._environment(str(tmp_path)), timeout_s)

    @pytest.mark.parametrize(("line", "limit_s"), [("sleep 60", 0.5), ("true", 30.0)])
    def test_nothing_that_it_starts_outlives_it(self, tmp_path, line, limit_s):
        """Nor does a session of its own; other children of this process are not hit."""
        with subprocess.Popen(["sleep", "60"]) as other:
            leaves = "setsid sh -c 'setsid sh -c \"sleep 1.5; touch late\" & sleep 60' & sleep 0.1"
            run = self.run(tmp_path, f"{leaves}; {line}", limit_s)
            assert (run["exit_code"] == 0) == (line == "true")
            time.sleep(1.6)
            assert not (tmp_path / "late").exists()
            assert other.poll() is None
            other.kill()

    def test_the_users_settings_stay_out(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SECRET_TOKEN", "sesame")
        run = self.run(tmp_path, 'echo "$SECRET_TOKEN" "$HOME"')
        assert run["stdout"] == f" {tmp_path}\n"

    def test_of_endless_output_the_first_part_is_kept(self, tmp_path, monkeypatch):
        monkeypatch.setattr(kept_output, "MOST_OUTPUT", 1000)
        run = self.run(tmp_path, "head -c 5000 /dev/zero | tr '\\0' x")
        assert (run["stdout"], run["cut"]) == ("x" * 1000, True)


@pytest.mark.skipif(not confinement.available(), reason="no Landlock in this kernel")
def test_it_changes_no_record(job, tmp_path, monkeypatch):
    (tmp_path / "record.json").write_text("{}")
    monkeypatch.setenv(confinement.VARIABLE, str(tmp_path))
    line = "echo mine > out.txt; echo mine > ~/.rc; echo mine > {}"
    build, run = (line.format(tmp_path / name) for name in ("record.json", "more.json"))
    record = run_one(replace(job, build=build, run=f"{run}; cat out.txt; true"))
    assert record["build"]["exit_code"] != 0
    assert record["runs"] == []
    record = run_one(replace(job, build=None, run=f"{run}; cat out.txt ~/.rc"))
    assert [ran["stdout"] for ran in record["runs"]] == ["mine\nmine\n"] * 2
    assert (tmp_path / "record.json").read_text() == "{}"
    assert not (tmp_path / "more.json").exists()

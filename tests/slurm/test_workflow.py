"""The workflow through the real executor: every GPU job lands on its target's node."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.judging.judge import judge
from assay.measuring.slurm_grant import GpuRefused, SlurmGrant, assert_grant, parse_grant
from assay.pipeline.slurm_jobs import journal_of, salted
from assay.records.slurm_jobs import SlurmJobsRecord
from assay.records.verdicts import Verdict, VerdictsFile
from assay.verification.verify import verify
from tests.slurm.cluster import PARTITION, Cluster
from tests.slurm.recorded import NODES, RUN, RecordedRun, write_targets

pytestmark = pytest.mark.slurm

GPU_STEPS = ("platform", "correctness", "benchmark", "cheats")
"""One job of the cluster each: the fixture has no programs, kernels or profiles."""


@pytest.fixture(scope="module")
def reproduced(recorded_run: RecordedRun) -> RecordedRun:
    """The run of recorded figures, at its end."""
    recorded_run.command.wait(400)
    return recorded_run


def test_it_runs_to_its_end(reproduced: RecordedRun, cluster: Cluster) -> None:
    assert reproduced.command.returncode == 0, reproduced.told() + cluster.logs()


def test_no_job_imports_what_lies_where_it_was_started(reproduced: RecordedRun) -> None:
    assert reproduced.hostile.ran() == []


@pytest.mark.parametrize("job", GPU_STEPS)
@pytest.mark.parametrize("target", NODES)
def test_every_gpu_job_ran_on_the_node_of_its_target(
    reproduced: RecordedRun, target: str, job: str
) -> None:
    jobs = journal_of(reproduced.root / "results" / RUN)
    (found,) = (each for each in jobs if (each.target, each.stage) == (target, job))
    described = load_catalog(reproduced.root).targets[target]
    assert (found.node, found.gpu_model, found.gpu_count) == (target, described.gpu_model, 1)
    assert (found.outcome, found.partition) == ("done", described.slurm_partition)


def test_no_two_jobs_shared_an_allocation(reproduced: RecordedRun) -> None:
    jobs = journal_of(reproduced.root / "results" / RUN)
    assert len(jobs) == len(GPU_STEPS) * len(NODES)
    assert len({job.job_id for job in jobs}) == len(jobs)


def test_the_report_tells_the_jobs_and_no_node(reproduced: RecordedRun) -> None:
    folder = reproduced.root / "reports" / RUN / "evidence"
    record = read_record(SlurmJobsRecord, folder / "slurm_jobs.json")
    assert record.salt is not None
    found = {job.target: job.node for job in record.jobs}
    assert found == {target: salted(record.salt, target) for target in NODES}


def test_the_report_verifies(reproduced: RecordedRun) -> None:
    report = reproduced.root / "reports" / RUN
    own = reproduced.root.parent / "own" / "key.pub"
    result = verify(report, [own, reproduced.key], repository=reproduced.root)
    assert result.passed
    assert result.run == RUN
    assert not result.notes, "the fixture's claims are the checkout's"


def test_without_the_key_of_its_origin_it_does_not(reproduced: RecordedRun) -> None:
    own = reproduced.root.parent / "own" / "key.pub"
    with pytest.raises(CheckFailed, match="origin"):
        verify(reproduced.root / "reports" / RUN, [own])


def test_verdicts_are_those_of_the_recorded_evidence(reproduced: RecordedRun) -> None:
    recorded = reproduced.fixture / "evidence"
    direct = judge(load_catalog(recorded), load_evidence(recorded)).verdicts
    told = read_record(VerdictsFile, reproduced.root / "reports" / RUN / "verdicts.json").verdicts
    assert [_elsewhere(verdict) for verdict in direct] == list(told)
    # Each answers its own claim, and the others' as elsewhere.
    own = [verdict for verdict in told if verdict.as_if is None]
    elsewhere = [verdict for verdict in told if verdict.as_if is not None]
    assert {verdict.claim for verdict in own} == {verdict.claim for verdict in elsewhere}
    wanted = {(target, "reproduced", None) for target in NODES}
    assert {(v.target, v.status.value, v.reason) for v in own} == wanted
    assert {(v.target, v.as_if and v.as_if.value, v.reason) for v in elsewhere} == wanted


def _elsewhere(verdict: Verdict) -> Verdict:
    """The verdict as a run states it that took the figure over instead of measuring it."""
    assert verdict.measured_on is not None
    assert verdict.measured_on.in_this_run
    taken = verdict.measured_on.model_copy(update={"in_this_run": False})
    return verdict.model_copy(update={"measured_on": taken})


@pytest.mark.parametrize(("node", "other"), [("l4", "h100"), ("h100", "l4")])
def test_a_job_on_the_wrong_node_is_refused_by_name(
    cluster: Cluster, tmp_path: Path, node: str, other: str
) -> None:
    grant = _grant_of_a_job_on(node, tmp_path)
    assert (grant.node, grant.gpu_index) == (node, 0)
    targets = load_catalog(write_targets(tmp_path / "repository")).targets
    assert_grant(targets[node], node, grant)
    wanted = f"job {grant.job_id} was given GPU type '{node}', but target {other} needs '{other}'"
    with pytest.raises(GpuRefused) as caught:
        assert_grant(targets[other], other, grant)
    assert str(caught.value) == wanted


def _grant_of_a_job_on(node: str, folder: Path) -> SlurmGrant:
    """What Slurm really says, inside the job, of a job that asked for this node's GPU."""
    shown = folder / "shown"
    job = _job(node, "scontrol show job --details $SLURM_JOB_ID", shown)
    assert job.returncode == 0, job.stderr
    return parse_grant(shown.read_text(), {"SLURM_JOB_ID": job.stdout.strip()})


def _job(
    node: str, command: str, output: Path, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as a job with this node's GPU; its exit code is the job's."""
    return subprocess.run(
        [
            "sbatch", "--wait", "--parsable", f"--partition={PARTITION}",
            f"--gpus={node}:1", f"--output={output}", f"--wrap={command}",
        ],
        cwd=directory, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_step_on_the_wrong_node_fails_and_writes_nothing(
    reproduced: RecordedRun, tmp_path: Path
) -> None:
    root, output = reproduced.root, tmp_path / "output"
    path = root / "results" / RUN / "h100" / "platform.json"
    before = path.read_bytes()
    call = (
        "import sys; sys.path.insert(0, 'src'); from assay.pipeline.steps import run_step; "
        "from pathlib import Path; "
        f"run_step(Path.cwd(), 'platform', {{'target': 'h100'}}, run_dir='results/{RUN}', "
        f"log='results/{RUN}/logs/wrong.log')"
    )
    job = _job("l4", f"{sys.executable} -c {shlex.quote(call)}", output, root)
    assert job.returncode == 1, job.stderr + output.read_text()
    failure = json.loads((root / "results" / RUN / "failures" / "platform.h100.json").read_text())
    assert failure["exit_code"] == 1
    number = job.stdout.strip()
    refused = f"job {number} was given GPU type 'l4', but target h100 needs 'h100'"
    assert failure["message"] == f"{refused} (Slurm job {number} on node l4)"
    (entry,) = (each for each in journal_of(root / "results" / RUN) if each.job_id == number)
    assert (entry.outcome, entry.reason, entry.gpu) == ("failed", refused, None)
    assert path.read_bytes() == before

"""From the command to a signed report through the real executor, on nodes of two GPU types."""

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.stages import PLATFORMS
from assay.measuring.slurm_grant import assert_grant, parse_grant
from assay.pipeline.slurm_jobs import node_of
from assay.records.platform import PlatformRecord
from assay.records.verdicts import Status, VerdictsFile
from assay.verification.verify import verify
from tests.library_checkout import write_config
from tests.slurm.cluster import NODES, PARTITION, slurm
from tests.slurm.measured import MeasuredCheckout, MeasuredRun

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def measured(cluster, tmp_path_factory, request) -> MeasuredRun:
    """A run that measured both targets, each on the node of its type."""
    place = MeasuredCheckout(tmp_path_factory.mktemp("two_types"), list(NODES), ["duel"])
    request.addfinalizer(place.stop)
    run = MeasuredRun(place, "two_types")
    assert run.start().wait(400) == 0, run.said() + cluster.logs()
    return run


def test_every_job_ran_alone_on_the_node_of_its_target(measured: MeasuredRun) -> None:
    targets, jobs = load_catalog(measured.place.root).targets, set[str]()
    for target, model in NODES.items():
        granted = measured.platform(target).allocation
        assert (granted.gpu_model, granted.gpu_count) == (model, 1)
        assert granted.partition == targets[target].slurm_partition
        assert node_of(measured.folder, target) == target
        jobs.add(granted.job_id)
    assert len(jobs) == len(NODES), "a target is one job"


def test_the_signed_report_names_no_node_and_verifies(measured: MeasuredRun) -> None:
    report = measured.place.root / "reports" / measured.name
    assert not (report / "evidence" / "allocations").exists()
    for target in NODES:
        record = read_record(PlatformRecord, report / "evidence" / PLATFORMS.path(target))
        assert record.allocation.node != target
    key = measured.place.folder / "key.pub"
    assert verify(report, [key], repository=measured.place.root).holds


def test_each_target_answers_its_own_claim(measured: MeasuredRun) -> None:
    verdicts = read_record(VerdictsFile, measured.folder / "verdicts.json").verdicts
    own = [verdict for verdict in verdicts if verdict.status is Status.REPRODUCED]
    assert {verdict.target for verdict in own} == set(NODES)


@pytest.mark.parametrize(("node", "other"), [("l4", "h100"), ("h100", "l4")])
def test_a_job_on_the_wrong_node_is_refused(cluster, tmp_path, node, other):
    """By what Slurm says, inside the job, of a job that asked for this node's GPU."""
    shown = tmp_path / "shown"
    number = slurm(
        "sbatch", "--wait", "--parsable", f"--partition={PARTITION}", f"--gpus={node}:1",
        f"--output={shown}", "--wrap=scontrol show job --details $SLURM_JOB_ID",
    )  # fmt: skip
    grant = parse_grant(shown.read_text(), {"SLURM_JOB_ID": number})
    assert grant.node == node
    targets = load_catalog(write_config(tmp_path / "repository", list(NODES), ["duel"])).targets
    assert_grant(targets[node], node, grant)
    with pytest.raises(CheckFailed):
        assert_grant(targets[other], other, grant)

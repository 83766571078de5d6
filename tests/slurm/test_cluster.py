"""The loopback cluster itself: typed GPU requests land where they should."""

import subprocess

import pytest

from tests.slurm.cluster import (
    CARDS,
    CONFIG,
    MARK,
    NODES,
    TYPES,
    Cluster,
    gres_conf,
    missing,
    slurm_conf,
)

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize(("node", "model"), NODES.items())
def test_a_typed_request_lands_on_the_node_that_has_it(cluster: Cluster, node: str, model: str):
    command = ["srun", "--partition=gpu", f"--gres=gpu:{model}:1"]
    run = subprocess.run(
        [*command, "sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stdout.split() == [node, "0"], run.stderr + cluster.logs()


def test_an_unknown_model_is_refused_at_submission(cluster: Cluster):
    run = subprocess.run(
        ["sbatch", "--partition=gpu", "--gres=gpu:b200:1", "--wrap=true"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode != 0
    assert "node configuration is not available" in run.stderr


def test_a_running_cluster_leaves_room_for_no_second_owner(cluster: Cluster):
    assert (CONFIG / "slurm.conf").read_text().startswith(MARK)
    assert missing() is None, "a configuration of ours is no real cluster's"


def test_daemons_listen_on_loopback_only(cluster: Cluster):
    text = slurm_conf(cluster.directory, range(1 + len(TYPES)))
    assert text.count("NodeAddr=127.0.0.1") == len(TYPES)
    assert "NoCtldInAddrAny,NoInAddrAny" in text
    assert gres_conf().count("File=/dev/null") == len(TYPES)
    assert gres_conf().count("File=") == sum(CARDS.values())

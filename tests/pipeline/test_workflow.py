"""The workflow's rules against the steps they call."""

import inspect
import re
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.pipeline.dag import Dag
from assay.pipeline.plan import make_plan
from assay.pipeline.slurm_jobs import executor_options, job_name, remember_node, salt_of
from assay.pipeline.steps import Steps
from assay.records.cluster import NO_CLUSTER, ClusterFile, JobWishes, TargetSite
from tests.report_fixtures import make_request, provision, write_repository

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^rule |\Z)", re.MULTILINE | re.DOTALL)
RULES = {
    name: body
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk"))
    for name, body in RULE.findall(path.read_text())
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_hands_its_wildcards_to_the_step_of_its_name(rule: str) -> None:
    body = RULES[rule]
    outputs = body.split("output:")[1].split("log:")[0]
    wildcards = set(re.findall(r"\{\{(\w+)\}\}", outputs))
    parameters = set(inspect.signature(getattr(Steps, rule)).parameters) - {"self"}
    assert wildcards == parameters


class TestWhatACluster:
    """Is asked for, by what the site says."""

    SITE = ClusterFile.model_validate(
        {
            "schema": "assay/cluster/1",
            "jobs": JobWishes(account="ours", qos="high", minutes=30),
            "targets": {
                "h100": TargetSite(
                    gpu_type="nvidia_h100",
                    partition="hopper",
                    constraint="sxm&ib",
                    nodes=("a", "b"),
                )
            },
        }
    )

    def dag(self, root: Path, site: ClusterFile) -> Dag:
        write_repository(root)
        request = make_request("site", [provision()], ["demo"])
        request = request.model_copy(update={"executor": "slurm", "cluster": site})
        return Dag(request, make_plan(load_catalog(root), request), root, root)

    def test_every_key_is_a_resource_of_the_executor(self, tmp_path: Path) -> None:
        assert self.dag(tmp_path, self.SITE).resources("h100") == {
            "gpu": 1, "gpu_model": "nvidia_h100", "gres": None, "slurm_partition": "hopper",
            "slurm_account": "ours", "qos": "high", "constraint": "sxm&ib",
            "slurm_extra": "--nodelist=a,b", "runtime": 30, "mem_mb": 14000, "cpus_per_task": 4,
        }  # fmt: skip

    def test_a_further_start_goes_to_the_node_of_the_platform(self, tmp_path: Path) -> None:
        dag = self.dag(tmp_path, NO_CLUSTER)
        assert dag.resources("h100")["slurm_extra"] is None
        remember_node(dag.root / dag.run_dir, "h100", "gpu07")
        assert dag.resources("h100")["slurm_extra"] == "--nodelist=gpu07"


def test_a_run_keeps_its_salt(tmp_path: Path) -> None:
    assert salt_of(tmp_path) == salt_of(tmp_path) != salt_of(tmp_path / "other")


def test_the_executor_is_told_what_the_site_says(tmp_path: Path) -> None:
    cluster = ClusterFile.model_validate(
        {
            "schema": "assay/cluster/1", "max_jobs": 4, "attempts": 5, "requeue": False,
            "status_command": "sacct", "reservation": "ours", "exclude_nodes": ("a", "b"),
        }
    )  # fmt: skip
    said = " ".join(executor_options(cluster, tmp_path / "run"))
    for option in (
        "--jobs 4", "--retries 4",
        "--slurm-no-requeue", "--slurm-status-command sacct",
        "--slurm-reservation ours", "--slurm-exclude-failed-nodes a,b",
        f"--slurm-jobname-prefix {job_name(tmp_path / 'run')}",
        f"--slurm-logdir {tmp_path / 'run' / 'logs' / 'slurm'}",
    ):  # fmt: skip
        assert option in said
    assert "--slurm-requeue" in executor_options(NO_CLUSTER, tmp_path)

"""The workflow's rules against the steps they call."""

import inspect
import re
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.evidence.stages import TARGET_STAGES
from assay.pipeline.dag import Dag
from assay.pipeline.plan import make_plan
from assay.pipeline.slurm_jobs import remember_node
from assay.pipeline.steps import Steps
from assay.records.cluster import NO_CLUSTER, ClusterFile, JobWishes, TargetSite
from assay.records.timings import Stage
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


def test_every_stage_has_a_rule_but_planning_which_the_command_does() -> None:
    of_targets = {entry.stage for entry in TARGET_STAGES}  # one rule for all of them
    # Judging and verifying are done by TOGETHER, and OPERATORS only by earlier versions.
    others = of_targets | {Stage.PLAN, Stage.JUDGE, Stage.VERIFY, Stage.OPERATORS}
    assert set(RULES) == set(Stage) - others | {"measure"}


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

"""The workflow's rules against the steps they call."""

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.base.errors import MissingEnvironment
from assay.catalog.load import load_catalog
from assay.evidence.stages import BENCHMARKS, PROFILES, TARGET_STAGES
from assay.measuring.slurm_grant import SlurmGrant
from assay.pipeline import dag as dag_module
from assay.pipeline.dag import Dag
from assay.pipeline.plan import make_plan
from assay.pipeline.slurm_jobs import JobJournal
from assay.pipeline.snakemake_run import snakemake_command
from assay.pipeline.steps import Steps
from assay.records.cluster import (
    NO_CLUSTER,
    CgroupLimits,
    ClusterFile,
    HeldGpu,
    JobWishes,
    TargetSite,
)
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
    of_targets = {entry.stage for entry in TARGET_STAGES}  # one rule each, by measuring.smk
    assert set(RULES) == set(Stage) - {Stage.PLAN} - of_targets


@pytest.mark.parametrize(
    ("executor", "kind", "threads"),
    [("local", "device", 64), ("slurm", "device", 1)],
)
def test_a_cluster_is_not_asked_for_the_cores_of_the_submitting_machine(
    tmp_path: Path, executor: str, kind: str, threads: int
) -> None:
    root = write_repository(tmp_path)
    request = make_request("cores", [provision(kind=kind)], ["demo"])
    request = request.model_copy(update={"executor": executor})
    dag = Dag(request, make_plan(load_catalog(root), request), root)
    assert (dag.threads(BENCHMARKS, 64), dag.threads(PROFILES, 64)) == (threads, 1)


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

    def platform_recorded(self, dag: Dag) -> None:
        """Have a job take down the GPU of its node."""
        grant = SlurmGrant("17", 0, "gpu07", "gpu", None, "h100", 1, 0, None)
        limits = CgroupLimits(cpus=(0,), memory_bytes=None, gpu_devices=())
        journal = JobJournal(dag.root / dag.run_dir, "h100", "platform", grant, limits)
        journal.held(HeldGpu(index=0, product="NVIDIA H100", uuid="GPU-aa", driver="580"))
        journal.end(None)

    def test_every_key_is_a_resource_of_the_executor(self, tmp_path: Path) -> None:
        assert self.dag(tmp_path, self.SITE).resources("h100", "correctness") == {
            "gpu": 1, "gpu_model": "nvidia_h100", "gres": None, "slurm_partition": "hopper",
            "slurm_account": "ours", "qos": "high", "constraint": "sxm&ib",
            "slurm_extra": "--nodelist=a,b", "runtime": 30, "mem_mb": 14000, "cpus_per_task": 1,
        }  # fmt: skip

    def test_later_stages_go_to_the_node_of_the_platform(self, tmp_path: Path) -> None:
        dag = self.dag(tmp_path, NO_CLUSTER)
        assert dag.resources("h100", "benchmark")["slurm_extra"] is None
        self.platform_recorded(dag)
        assert dag.resources("h100", "benchmark")["slurm_extra"] == "--nodelist=gpu07"
        assert dag.resources("h100", "platform")["slurm_extra"] is None

    @pytest.mark.parametrize(("cards", "one_at_a_time"), [(1, 0), (8, 1)])
    def test_jobs_of_a_target_follow_each_other_where_its_node_has_several_cards(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cards: int, one_at_a_time: int
    ) -> None:
        asked: list[tuple[str, str]] = []

        def gpus_of_node(node: str, gpu_type: str) -> int:
            asked.append((node, gpu_type))
            return cards

        def silent(*_: str) -> int:
            raise MissingEnvironment("Slurm does not answer sinfo")

        monkeypatch.setattr(dag_module, "gpus_of_node", gpus_of_node)
        dag = self.dag(tmp_path, self.SITE)
        job, other = (SimpleNamespace(target=name) for name in ("h100", "l4"))
        card = dag.gpu_resources()["card_h100"]
        assert card(job) == 1, "nobody knows the node yet"
        self.platform_recorded(dag)
        assert card(job) == one_at_a_time
        assert card(other) == 0
        assert asked == [("gpu07", "nvidia_h100")]
        monkeypatch.setattr(dag_module, "gpus_of_node", silent)
        assert card(job) == 1, "Slurm does not say"
        command = snakemake_command(tmp_path, dag.request)
        assert "card_h100=1" in command[command.index("--resources") :]

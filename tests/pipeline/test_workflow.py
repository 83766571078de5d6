"""The workflow's rules against the steps they call."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from assay.catalog.load import load_catalog
from assay.evidence.entries import TargetStage
from assay.evidence.stages import TARGET_STAGES
from assay.pipeline.dag import Dag
from assay.pipeline.plan import make_plan
from assay.pipeline.steps import Steps
from assay.records.timings import Stage
from tests.report_fixtures import make_request, provision, write_repository

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(
    r"^(?:rule|use rule \w+ as) (\w+)(?: with)?:\n(.*?)(?=^rule |^use rule |\Z)",
    re.MULTILINE | re.DOTALL,
)
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
    if f'ASSAY.output("{rule}")' in outputs:
        wildcards.add("target")
    parameters = set(inspect.signature(getattr(Steps, rule)).parameters) - {"self"}
    assert wildcards == parameters


def test_every_stage_has_a_rule_but_planning_which_the_command_does() -> None:
    assert set(RULES) == set(Stage) - {Stage.PLAN}


@pytest.mark.parametrize("entry", TARGET_STAGES, ids=lambda entry: entry.stage.value)
def test_a_batch_writes_a_folder_and_others_a_file(entry: TargetStage[Any, Any]) -> None:
    assert ("directory(" in RULES[entry.stage]) == (entry.each is not None)


@pytest.mark.parametrize(
    ("executor", "kind", "threads"),
    [("local", "device", 64), ("slurm", "device", 1), ("slurm", "recorded", 1)],
)
def test_a_cluster_is_not_asked_for_the_cores_of_the_submitting_machine(
    tmp_path: Path, executor: str, kind: str, threads: int
) -> None:
    root = write_repository(tmp_path)
    request = make_request("cores", [provision(kind=kind)], ["demo"])
    request = request.model_copy(update={"executor": executor})
    dag = Dag(request, make_plan(load_catalog(root), request), root)
    assert dag.threads("h100", 64) == threads

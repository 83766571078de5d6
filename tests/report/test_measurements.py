"""The table of a comparison's arms: a column of memory where a record has it, else none."""

import json
from typing import Any

from assay.records.measurements import RivalSweep
from assay.report.measurements import comparison_sections
from tests import builders as b


def section(**memory: int | None) -> Any:
    record = b.benchmark(arm_facts={"ours": b.facts("ours", **memory)})
    evidence = b.evidence([], checks=[b.correctness()], benchmarks=[record])
    (found,) = comparison_sections(b.catalog([]), evidence, {})
    return found


def test_memory_of_inputs_and_of_a_launch_beside_them() -> None:
    found = section(input_bytes=3 * 2**20, launch_bytes=1536)
    memory = {arm["arm"]: arm["memory"] for arm in found["arms"]}
    assert found["tells_memory"]
    assert (memory["ours"], memory["rival"]) == ("3.0 MiB + 1.5 KiB", None)


def swept_section(*choices: int) -> Any:
    """One process a choice of stages, each tried beside one that does not fit."""
    record = b.benchmark()
    refused = {"settings": {"stages": 9}, "ms": None, "refused": "does not fit"}
    processes = []
    for process, stages in zip(record.processes, choices, strict=False):
        tried = [{"settings": {"stages": stages}, "ms": 1.5, "refused": None}, refused]
        sweep = RivalSweep.model_validate_json(json.dumps({
            "search": "grid", "chosen": {"stages": stages}, "tried": tried, "seconds": 1.0,
        }))  # fmt: skip
        arms = [
            facts.model_copy(update={"swept": sweep}) if facts.arm == "rival" else facts
            for facts in process.arms
        ]
        processes.append(process.model_copy(update={"arms": tuple(arms)}))
    record = record.model_copy(update={"processes": tuple(processes)})
    evidence = b.evidence([], checks=[b.correctness()], benchmarks=[record])
    (found,) = comparison_sections(b.catalog([]), evidence, {})
    return found


def test_what_a_rivals_sweeps_chose_is_told() -> None:
    told = {arm["arm"]: arm["swept"] for arm in swept_section(3, 4)["arms"]}
    assert told["ours"] is None
    assert told["rival"] == "rival: stages 3; stages 4, chosen on this workload."

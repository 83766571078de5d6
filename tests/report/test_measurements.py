"""The tables of a comparison's arms, and of Nsight Compute's figures."""

import json
from pathlib import Path
from typing import Any

from assay.evidence.load import load_evidence
from assay.records.measurements import RivalSweep
from assay.report.measurements import COLUMNS, comparison_sections, profile_rows
from assay.verification.report_archive import opened_report
from tests import builders as b

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"


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
    assert told["rival"] == "rival: stages=3; stages=4, chosen on this workload."


def test_what_a_profile_does_not_lift_out_is_read_off_its_raw_page() -> None:
    """These records were made when another metric stood for the tensor pipe."""
    with opened_report(PUBLISHED / "h100_20261121_settled.tar.xz") as report:
        found: list[Any] = list(profile_rows(load_evidence(report / "evidence")))
    rows = {(row["comparison"], row["arm"]): row["cells"] for row in found}
    cells = dict(zip((title for _, title in COLUMNS), rows["bsr_gemm_128", "cublas"], strict=True))
    told = {"tensor pipe": "93.35 %", "L2": "53.30 %", "clock": "1474 MHz"}
    assert told == {name: cells[name].replace("\N{NO-BREAK SPACE}", " ") for name in told}

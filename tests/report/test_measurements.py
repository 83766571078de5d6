"""The table of a comparison's arms: a column of memory where a record has it, else none."""

from pathlib import Path

import pytest

from assay.report.measurements import ComparisonSection, comparison_sections
from assay.statistics.shared_summaries import SharedSummaries
from tests import builders as b

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"


def section(**memory: int | None) -> ComparisonSection:
    record = b.benchmark(arm_facts={"ours": b.facts("ours", **memory)})
    evidence = b.evidence([], checks=[b.correctness()], benchmarks=[record])
    (found,) = comparison_sections(b.catalog([]), evidence, SharedSummaries(), {})
    return found


def test_memory_of_inputs_and_of_a_launch_beside_them() -> None:
    found = section(input_bytes=3 * 2**20, launch_bytes=1536)
    memory = {arm.arm: arm.memory for arm in found.arms}
    assert found.tells_memory
    assert (memory["ours"], memory["rival"]) == ("3.0 MiB + 1.5 KiB", None)


@pytest.mark.parametrize("template", ["appendix.html.j2"])
def test_the_column_hangs_on_the_record(template: str) -> None:
    assert not section().tells_memory
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    heading = text.index("Memory: inputs + launch")
    assert "{% if comparison.tells_memory %}" in text[heading - 60 : heading]

"""The kernels' READMEs: their figures are those of the signed runs that they name."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.statistics.summaries import time_ratio
from assay.verification.report_archive import opened_report, read_archive

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
ROW = re.compile(
    r"^\|.*\| `(?P<claim>\w+)` \| (?P<least>[\d.]+) \| (?P<h200>.*? \| [\w ]+) \| "
    r"(?P<h100>.* \| [\w ]+) \|$",
    re.MULTILINE,
)
CELL = re.compile(
    r"(?P<measured>[\d.]+) \[(?P<low>[\d.]+), (?P<high>[\d.]+)\]"
    r" \| (?P<verdict>[\w ]+)"
)


def own_verdicts(report: str, target: str) -> dict[str, dict[str, Any]]:
    verdicts = json.loads(read_archive(ROOT / report)["verdicts.json"])["verdicts"]
    return {v["claim"]: v for v in verdicts if v["target"] == target and v["source"] == "assay"}


@pytest.mark.parametrize(("place", "target"), [(0, "h200"), (1, "h100")])
@pytest.mark.parametrize("kernel", ["block_sparse_attention", "bsr_gemm"])
def test_every_ratio_is_that_of_the_record(kernel: str, place: int, target: str) -> None:
    text = (KERNELS / kernel / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(reports/published/\w+\.tar\.xz)`", text)
    attention = kernel == "block_sparse_attention"
    own = own_verdicts(named[place], target)
    rows = {row["claim"]: row for row in ROW.finditer(text)}
    cells = {claim: CELL.fullmatch(row[target]) for claim, row in rows.items()}
    judged = {
        claim
        for claim, v in own.items()
        if v["ci90"] and claim.startswith("attention_") == attention
    }
    assert {claim for claim, cell in cells.items() if cell} == judged
    for claim in judged:
        cell, verdict = cells[claim], own[claim]
        assert cell["verdict"] == verdict["status"].replace("_", " ")
        printed = [float(rows[claim]["least"])]
        printed += [float(cell[name]) for name in ("measured", "low", "high")]
        recorded = [verdict["claimed"], verdict["measured"], *verdict["ci90"]]
        assert printed == pytest.approx(recorded, abs=5e-4)


def shows(figures: Sequence[str], numbers: Sequence[float]) -> bool:
    """Whether each figure is the number, rounded to as many digits as it has."""
    digits = [len(figure.replace(".", "").lstrip("0")) for figure in figures]
    return all(
        float(f"{number:.{count}g}") == float(figure)
        for number, count, figure in zip(numbers, digits, figures, strict=True)
    )


LAYER = re.compile(
    r"^\| (?P<size>\d+)\sx\s4096 \| (?P<zero>[\d.]+)\s% \| (?P<cells>.*) \|$", re.MULTILINE
)


def test_each_linear_layer_is_that_of_the_record() -> None:
    """docs/pytorch.md: time of the dense layer over that of the sparse one."""
    text = (ROOT / "docs" / "pytorch.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"reports/published/\w+\.tar\.xz", text)
    with opened_report(ROOT / named) as report:
        folder = report / "evidence"
        catalog, evidence = load_catalog(folder), load_evidence(folder)
    rows = list(LAYER.finditer(text))
    assert len(rows) == 6
    for row in rows:
        share = round(float(row["zero"]))
        for tokens, shown in zip((1, 64, 1024, 8192), row["cells"].split(" | "), strict=True):
            name = "layers_few_tokens" if tokens < 1024 else "layers_many_tokens"
            layer = f"{row['size']}_t{tokens}"
            ratio = time_ratio(
                evidence.benchmarks["h200", name],
                f"s{share}_{layer}",
                f"dense_{layer}",
                catalog.judging,
            )
            low, high = ratio.interval()
            assert shows(re.findall(r"[\d.]+", shown), (ratio.value(), low, high))
            assert shown.startswith("**") == (low > 1)

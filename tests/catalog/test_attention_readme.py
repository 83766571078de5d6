"""The attention kernels' README: its ratios are those of the signed run that it names."""

import json
import re
from pathlib import Path

import pytest

from assay.verification.report_archive import read_archive

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "kernels" / "block_sparse_attention" / "README.md"
ROW = re.compile(
    r"^\|.*\| `(?P<claim>\w+)` \| (?P<least>[\d.]+) \| "
    r"(?P<measured>[\d.]+) \[(?P<low>[\d.]+), (?P<high>[\d.]+)\] \| (?P<verdict>[\w ]+) \|$",
    re.MULTILINE,
)


def test_every_ratio_is_that_of_the_record():
    text = README.read_text(encoding="utf-8")
    (named,) = set(re.findall(r"`(reports/published/\w+\.tar\.xz)`", text))
    verdicts = json.loads(read_archive(ROOT / named)["verdicts.json"])["verdicts"]
    own = {v["claim"]: v for v in verdicts if v["target"] == "h200" and v["source"] == "assay"}
    rows = {row["claim"]: row for row in ROW.finditer(text)}
    judged = {claim for claim, v in own.items() if v["ci90"] and claim.startswith("attention_")}
    assert set(rows) == judged
    for claim, row in rows.items():
        verdict = own[claim]
        assert row["verdict"] == verdict["status"].replace("_", " ")
        printed = [float(row[name]) for name in ("least", "measured", "low", "high")]
        recorded = [verdict["claimed"], verdict["measured"], *verdict["ci90"]]
        assert printed == pytest.approx(recorded, abs=5e-4)

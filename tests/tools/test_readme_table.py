"""README's results: findings from verdict data, then at most one line a source and ten in all."""

from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.records.verdicts import VerdictsFile
from tools import readme_table


@pytest.fixture(scope="module")
def told(full_report: Path) -> tuple[Catalog, VerdictsFile]:
    verdicts = read_record(VerdictsFile, full_report / "verdicts.json")
    return load_catalog(full_report / "evidence"), verdicts


class TestTable:
    def test_one_line_a_source_with_its_counts(self, told: tuple[Catalog, VerdictsFile]) -> None:
        text = readme_table.result_tables(*told, "reports/demo_run")
        table = [line for line in text.splitlines() if line.startswith("|")]
        assert table[0] == (
            "| source | Published speed figures "
            "| Figures measured on another GPU than their sources name "
            "| Compile probes and other statements |"
        )
        assert table[2:] == [
            "| demo: A demo &lt;source&gt; & more "
            "| 2 reproduced, 1 misstated (it seems), 1 not run | 1 not reproduced "
            "| 1 reproduced |"
        ]


def test_markers_stay(tmp_path: Path) -> None:
    text = f"a\n{readme_table.BEGIN}\nold\n{readme_table.END}\nb\n"
    new = readme_table.replaced(text, "tables")
    assert new == f"a\n{readme_table.BEGIN}\n\ntables\n\n{readme_table.END}\nb\n"

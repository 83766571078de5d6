"""docs/pytorch.md's table of layers: from a report that measured them, and nothing before."""

from pathlib import Path

import pytest
from tools.layers_table import BEGIN, DOCUMENT, END, layers_text, newest_layers, replaced

from assay.base.errors import BadInput
from tests.layer_fixtures import layers_case
from tools import layers_table

ROOT = Path(__file__).resolve().parents[2]


def test_says_where_and_gives_a_line_a_layer() -> None:
    case = layers_case()
    text = layers_text(case.catalog, case.evidence, "reports/published/some")
    assert text is not None
    assert text.startswith("## Linear layers")
    table = "tokens from 50\N{NO-BREAK SPACE}% zeros on.\n\n| weights | zero | 1 token |"
    assert "NVIDIA H200 (SXM5) (reports/published/some). Every sparse layer" in text
    assert table in text
    assert sum(line.startswith("| ") for line in text.splitlines()) == 7


def test_a_report_without_layers_has_no_text() -> None:
    case = layers_case()
    case.evidence.benchmarks.clear()
    assert layers_text(case.catalog, case.evidence, "reports/published/some") is None


def test_goes_to_the_end_and_then_between_its_markers() -> None:
    first = replaced("# Title\n\nWords.\n", "one")
    assert first == f"# Title\n\nWords.\n\n{BEGIN}\n\none\n\n{END}\n"
    assert replaced(first, "two") == first.replace("one", "two")
    with pytest.raises(BadInput, match="marker"):
        replaced(first.replace(END, ""), "two")


def test_without_a_report_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no report there measured"):
        newest_layers(tmp_path)


def test_the_document_says_what_the_newest_report_measured() -> None:
    """Nothing before there is such a report, and its table from then on."""
    document = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    try:
        section = newest_layers(ROOT)
    except BadInput:
        assert layers_table.BEGIN not in document
    else:
        assert replaced(document, section) == document

"""Linear layers in the report: a picture and a table where somebody measured them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.evidence.stages import pipeline_path
from assay.findings.layers import layer_tables
from assay.records.attestation import PipelineRecord
from assay.records.verdicts import VerdictsFile
from assay.report.figure_layers import layer_panels
from assay.report.formatting import NOTHING, declared_percent
from assay.report.layers import LayersSection, layer_markdown, layer_sections, pays_sentence
from assay.report.render import render_texts
from assay.report.view import build_view
from assay.statistics.shared_summaries import SharedSummaries
from tests.layer_fixtures import layers_case
from tests.report.test_figures import Svg
from tests.report.test_render import Page
from tests.report_fixtures import write_repository, write_run

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"


@pytest.fixture(scope="module")
def section() -> LayersSection:
    case = layers_case()
    (found,) = layer_sections(case.catalog, case.evidence, SharedSummaries())
    return found


def test_a_line_a_layer_with_what_pays(section: LayersSection) -> None:
    assert section.tokens == ("1", "64", "1024", "8192")
    assert section.product == "NVIDIA H200 (SXM5)"
    assert [line.weights for line in section.lines] == ["4096 x 4096"] * 3 + ["14336 x 4096"] * 3
    half, _, most = (line for line in section.lines[:3])
    assert [half.zero, most.zero] == [declared_percent(0.5), declared_percent(29 / 32)]
    assert [cell.pays for cell in half.cells] == [False, False, False, True]
    assert re.fullmatch(r"[56]\.\d+\N{MULTIPLICATION SIGN}", most.cells[3].speedup)
    assert re.fullmatch(r"\[\d\.\d+, \d\.\d+\]", most.cells[3].interval or "")


def test_a_sentence_says_from_where_on_they_pay(section: LayersSection) -> None:
    half, more, most = map(declared_percent, (0.5, 0.75, 29 / 32))
    assert section.pays == (
        "Every sparse layer measured is faster than the dense one: with 1 or 64 tokens from "
        f"{most} zeros on; with 1024 tokens from {more} zeros on; with 8192 tokens from {half} "
        "zeros on."
    )
    (table,) = layer_tables(layers_case())
    dense = replace(table, rows=(table.rows[0],))
    assert "with 1, 64 or 1024 tokens at no share tried; " in pays_sentence(dense)


def test_records_are_named(section: LayersSection) -> None:
    assert [each.href for each in section.links] == [
        f"evidence/h200/benchmark/layers_{name}_tokens.json.gz" for name in ("few", "many")
    ]


def test_the_picture_has_a_panel_a_size_and_a_line_a_share(section: LayersSection) -> None:
    drawn = Svg(section.figure)
    for words in ("weights 4096 x 4096", "weights 14336 x 4096", "times as fast as dense"):
        assert drawn.text.count(words) == 1
    assert sum(text.endswith("zero") for text in drawn.text) == 6
    assert section.figure.count("<use ") == 24
    assert len(set(drawn.ids)) == len(drawn.ids)


def test_what_was_not_measured_is_a_dash_and_no_mark() -> None:
    case = layers_case(frozenset({"s50_4096_t1024"}))
    (table,) = layer_tables(case)
    assert layer_panels(table, "x").count("<use ") == 23
    lines = layer_markdown(table)
    assert lines[0] == "| weights | zero | 1 token | 64 tokens | 1024 tokens | 8192 tokens |"
    assert lines[2].split(" | ")[4] == NOTHING
    assert lines[2].split(" | ")[5].startswith("**1.")
    assert lines[2].count("**") == 2


def test_the_appendix_prints_them(section: LayersSection, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    run = write_run(root)
    catalog, evidence = load_catalog(root), load_evidence(run)
    verdicts = read_record(VerdictsFile, run / "verdicts.json")
    pipeline = read_record(PipelineRecord, run / pipeline_path())
    view = build_view(catalog, evidence, verdicts, pipeline, SharedSummaries())
    texts = render_texts(TEMPLATES, replace(view, layers=(section,)))
    page = Page(texts["appendix.html"])
    assert "layers" in page.ids
    assert " ".join(section.pays.split()) in page.text
    line = page.text[page.text.index("Weights Zero Tokens: 1") :]
    assert f"4096 x 4096 50 % {section.lines[0].cells[0].speedup} [" in line
    assert "Linear layers" not in render_texts(TEMPLATES, view)["appendix.html"]


def test_without_layers_there_is_no_section() -> None:
    case = layers_case()
    case.evidence.benchmarks.clear()
    assert layer_sections(case.catalog, case.evidence, SharedSummaries()) == ()

"""Tuning in the report: there where a sweep is among the evidence, and nowhere else."""

import re
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.records.tuning import ShapeClass
from assay.report.figure_sweeps import Configuration, Panel, sweep_panels
from assay.report.render import texts_of
from assay.report.tuning import shapes_in_words, tuning_section
from assay.statistics.shared_summaries import SharedSummaries
from tests.report.test_figures import Svg
from tests.report.test_render import Page
from tests.report_fixtures import choice, signed_report, write_repository, write_tuning

WHY = "A <reason> | with marks."


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report whose second-fastest configuration is in use."""
    root = write_repository(tmp_path_factory.mktemp("tuned") / "repo")
    write_tuning(
        root,
        choice(
            variant="demo_bk64",
            evidence={"comparison": "demo_sweep", "arm": "bk64"},
            shapes={"n_least": 4096, "ragged": False},
            why=WHY,
        ),
    )
    return signed_report(root)


class TestSection:
    """The words of the appendix on a choice."""

    @pytest.fixture(scope="class")
    @staticmethod
    def page(report: Path) -> Page:
        return Page((report / "appendix.html").read_text(encoding="utf-8"))

    def test_the_choice_its_standing_and_its_reason(self, page: Page) -> None:
        said = page.text[page.text.index("Which configuration of a kernel") :]
        said = said[: said.index("Nsight Compute")]
        for part in (
            "bsr_gemm, float16, 128x128 n from 4096, rows of one length",
            "demo_bk64 BK 64",
            "another is faster",
            "demo_bk96 is faster by 2",
            f"Chosen because: {WHY}",
        ):
            assert part in said, part

    def test_the_ratio_stands_with_its_interval(self, page: Page) -> None:
        assert re.search(r"another is faster 0\.77\d\d\S \[0\.7\d+, 0\.7\d+\]", page.text)

    def test_links_lead_to_the_arms_and_the_records(self, page: Page, report: Path) -> None:
        assert "#comparison-h100-demo_sweep" in page.links
        assert "comparison-h100-demo_sweep" in page.ids
        assert (report / "evidence" / "config" / "tuning.yaml").is_file()
        assert {"#tuning", "evidence/config/tuning.yaml"} <= set(page.links)

    def test_without_a_choice_there_is_no_section(self, tmp_path: Path) -> None:
        report = signed_report(write_repository(tmp_path / "repo"))
        for text in texts_of(tmp_path / "repo", report).values():
            assert "Tuning" not in text

    def test_without_a_record_there_is_no_section(self, report: Path) -> None:
        evidence = load_evidence(report / "evidence")
        evidence.benchmarks.clear()
        assert (
            tuning_section(load_catalog(report / "evidence"), evidence, SharedSummaries()) is None
        )


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({}, "every shape"),
        ({"n_most": 2048, "ragged": False}, "n up to 2048, rows of one length"),
        ({"n_least": 2049, "n_most": 4096}, "n 2049 to 4096"),
        ({"ragged": True, "blocks_least": 4, "blocks_most": 8.5},
         "4 to 8.5 blocks a row, ragged rows"),
        ({"blocks_least": 32}, "from 32 blocks a row"),
    ],
)  # fmt: skip
def test_shape_classes_in_words(shapes: dict[str, float], words: str) -> None:
    assert shapes_in_words(ShapeClass.model_validate(shapes)) == words


PANELS = (
    Panel(
        "Wide",
        (
            Configuration("g32: <GROUP_M> 32", 660.0, 655.0, 664.0, True, True, "660"),
            Configuration("cublas", 690.0, 688.0, 691.0, False, False, "690"),
        ),
    ),
    Panel("Narrow", (Configuration("g16", 500.0, 490.0, 510.0, False, True, "500"),)),
)


class TestPicture:
    """Panels below each other; the chosen configuration stands out."""

    def test_every_panel_and_row_is_named(self) -> None:
        svg = sweep_panels(PANELS, "a")
        assert svg is not None
        texts = Svg(svg).text
        for name in ("Wide", "Narrow", "g32: <GROUP_M> 32", "cublas", "g16", "rate, TFLOP/s"):
            assert name in texts

    def test_only_the_chosen_one_is_bold(self) -> None:
        svg = sweep_panels(PANELS, "a")
        assert svg is not None
        bold = re.findall(r"<text [^>]*font-weight: 700[^>]*>([^<]*)</text>", svg)
        assert bold == ["g32: &lt;GROUP_M&gt; 32"]

    def test_a_sweep_without_a_kernel_is_not_drawn(self) -> None:
        library = Panel("Library", (PANELS[0].rows[1],))
        assert sweep_panels([library], "a") is None
        assert sweep_panels([], "a") is None
        svg = sweep_panels([*PANELS, library], "a")
        assert svg is not None
        assert "Library" not in Svg(svg).text

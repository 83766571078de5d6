"""The words of every kind of page, kept whole: ``python -m tests.report.test_golden`` writes them.

A published report is rendered again byte for byte elsewhere; these have what it lacks: readings,
figures measured on another GPU, a failed gate, two reports side by side.
"""

import re
import tempfile
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.findings.report_comparison import GivenReport
from assay.findings.report_figures import report_figures
from assay.judging.judge import judge
from assay.report.comparison_page import comparison_page, comparison_view
from assay.report.site import Site
from tests.report.told import told_report

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "reports" / "templates"
KINDS = (
    "report.html",
    "appendix.html",
    "report.md",
    "compare.html",
    "index.html",
    "claim.html",
    "claims.html",
)
DIGEST = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,64}\b")


def words(page: str) -> str:
    """Return what a page says: a line a block, without styles, scripts, pictures and digests."""
    page = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    blocks = re.split(r"<(?:p|li|tr|td|th|dt|dd|h\d|summary|figcaption|section)\b[^>]*>", page)
    lines = (" ".join(re.sub(r"<[^>]*>", " ", block).split()) for block in blocks)
    return DIGEST.sub("DIGEST", "\n".join(line for line in lines if line)) + "\n"


def pages(folder: Path) -> dict[str, str]:
    report = told_report(folder / "repo")
    texts = {name: (report / name).read_text(encoding="utf-8") for name in KINDS[:3]}
    catalog, evidence = load_catalog(report / "evidence"), load_evidence(report / "evidence")
    figures = report_figures(catalog, evidence, judge(catalog, evidence), commit=None,
                             created="2026-01-02T03:04:05Z", manifest_sha256="ab" * 32)  # fmt: skip
    other = figures.model_copy(update={"manifest_sha256": "cd" * 32, "run": "other_run"})
    given = [GivenReport(each.run, each.run, each, "key", "signed") for each in (figures, other)]
    site = Site()
    for each in given:
        site.add(each)
    made = dict(site.pages(TEMPLATES))
    texts["compare.html"] = comparison_page(TEMPLATES, comparison_view(given, ()))
    texts |= {
        "index.html": made["index.html"],
        "claim.html": made["claims/demo_rate.html"],
        "claims.html": made["claims.html"],
    }
    return {name: words(text) if "html" in name else DIGEST.sub("DIGEST", text)
            for name, text in texts.items()}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return pages(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_says_what_it_said(made: dict[str, str], kind: str) -> None:
    assert made[kind] == (GOLDEN / f"{kind}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, text in pages(Path(folder)).items():
            (GOLDEN / f"{name}.txt").write_text(text, encoding="utf-8")

"""The documents: their index, links, length, commands, and the site that is built of them."""

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from assay.cli.main import OF_LAB, application
from assay.verification.report_archive import opened_report
from tests.console_blocks import ROOT, commands, follow

DOCS = ROOT / "docs"
PAGES = [path.stem for path in sorted(DOCS.glob("*.md"))]
LINKED = ["README.md", "CONTRIBUTING.md", *(f"docs/{page}.md" for page in PAGES)]
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")
LIMIT = 20_000
"""Words of docs/, CONTRIBUTING.md and the kernels' READMEs together, a table's bars among them."""
TYPED = re.compile(r"\./assay ([a-z]+)((?: [^`\n#;|&]*)?)")
FOLLOWED = {"first-report", "from-a-paper", "your-own-claims", "ci"}
"""Pages with ``console`` blocks: the last two are followed in tests/pipeline."""


def test_the_index_names_every_document() -> None:
    named = set(LINK.findall((DOCS / "README.md").read_text(encoding="utf-8")))
    assert {f"{page}.md" for page in PAGES} == {
        "README.md",
        *(n for n in named if n != "report.png"),
    }


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not ((ROOT / page).parent / link).exists()]
    assert missing == []


def test_the_documents_are_short() -> None:
    pages = [*DOCS.glob("*.md"), ROOT / "CONTRIBUTING.md", *ROOT.glob("kernels/*/README.md")]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) < LIMIT


def test_readme_tells_how_long_the_newest_own_run_took() -> None:
    """From the first record of its GPU to the last."""
    newest = max(ROOT.glob("reports/published/own_h200_*.tar.xz"))
    with opened_report(newest) as report:
        records = (report / "evidence").rglob("h200/*.json")  # judged again, it is nested
        moments = sorted(json.loads(each.read_text())["recorded_at"] for each in records)
    began, ended = map(datetime.fromisoformat, (moments[0], moments[-1]))
    minutes = round((ended - began).total_seconds() / 60)
    assert f"took an H200 {minutes} minutes." in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_console_block_is_typed_by_a_test() -> None:
    assert {page for page in PAGES if commands(page)} == FOLLOWED


def options(command: Any) -> set[str]:
    """Options of a command and of those below it; ``remote`` hands on those of ``reproduce``."""
    below = {word: options(each) for word, each in getattr(command, "commands", {}).items()}
    own = {word for each in command.params for word in (*each.opts, *each.secondary_opts)}
    return own.union(["-h", "--help", "--version"], *below.values())


def test_every_command_of_a_page_has_the_options_it_is_typed_with() -> None:
    assay = typer.main.get_command(application())
    typed = [line for page in LINKED for line in TYPED.findall((ROOT / page).read_text("utf-8"))]
    assert len(typed) > 60
    for name, rest in typed:
        known = options(assay.commands["lab" if name in OF_LAB else name])
        known |= {"remote": options(assay.commands["reproduce"]), "test": {"-k"}}.get(name, set())
        assert set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest)) <= known, f"./assay {name}{rest}"


def test_the_first_report_is_made_as_the_page_says(tmp_path: Path) -> None:
    """What takes minutes is typed on a bare Debian, where a GPU is missing too."""
    long = "./assay reproduce"
    assert f"verified '{long}'" in (ROOT / ".ci" / "typed").read_text()
    follow("first-report", tmp_path, but=long)


def test_the_papers_page_shows_the_papers_project(tmp_path: Path) -> None:
    follow("from-a-paper", tmp_path)
    project = (ROOT / "projects" / "flashattention3" / "assay.yaml").read_text(encoding="utf-8")
    page = (DOCS / "from-a-paper.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```yaml\n(.*?)^```$", page, re.S | re.M):
        behind = project
        for line in block.splitlines():
            _, found, behind = behind.partition(f"{line}")
            assert found, line


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built where the only way to other machines is a proxy that is not there."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    typed = [sys.executable, "-c", NO_NETWORK, "lab", "docs", str(folder)]
    ended = subprocess.run(typed, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    return folder


NO_NETWORK = (
    "import os, sys; os.environ.update(http_proxy='http://127.0.0.1:9', https_proxy='http://127.0.0.1:9');"
    f"sys.path.insert(0, {str(ROOT / 'src')!r}); from assay.cli.main import main; main()"
)


@pytest.mark.docs
class TestTheSite:
    """MkDocs in strict mode refuses a link or an anchor that leads nowhere."""

    def test_it_has_every_page_and_finds_each(self, site: Path) -> None:
        index = json.loads((site / "search" / "search_index.json").read_text())
        found = {entry["location"].partition("#")[0] for entry in index["docs"]}
        pages = {"index.html" if page == "README" else f"{page}.html" for page in PAGES}
        others = {"CONTRIBUTING.html", "CHANGELOG.html", "kernels/bsr_gemm/index.html"}
        assert pages | others <= {name or "index.html" for name in found}

    def test_no_page_fetches_anything_from_elsewhere(self, site: Path) -> None:
        fetched = re.compile(
            r"""<(?:script|img|iframe|link)[^>]+(?:src|href)=["']?(https?:[^"' >]+)"""
        )
        pages = {path: fetched.findall(path.read_text()) for path in site.rglob("*.html")}
        assert {path.name: found for path, found in pages.items() if found} == {}

    def test_every_link_leads_to_a_file_of_the_site(self, site: Path) -> None:
        link = re.compile(
            r"""<(?:a|img)[^>]+(?:href|src)=["']?(?!https?:|#|data:|mailto:)([^"' >#]+)"""
        )
        for page in site.rglob("*.html"):
            if page.name == "404.html":  # from the site's root, wherever it is shown
                continue
            for found in link.findall(page.read_text()):
                assert (page.parent / found).exists(), (page.name, found)

    def test_what_is_no_site_stays(self, tmp_path: Path) -> None:
        (tmp_path / "mine").touch()
        typed = [sys.executable, "-c", NO_NETWORK, "lab", "docs", str(tmp_path)]
        assert subprocess.run(typed, cwd=ROOT, capture_output=True, check=False).returncode == 2
        assert (tmp_path / "mine").exists()

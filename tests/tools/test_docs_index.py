"""The index of documents names each, and the documents' links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


def test_the_index_names_every_document() -> None:
    named = set(LINK.findall((DOCS / "README.md").read_text(encoding="utf-8")))
    here = {link for link in named if not link.startswith("../")}
    assert here == {path.name for path in DOCS.glob("*.md")} - {"README.md"}


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(f"docs/{p.name}" for p in DOCS.glob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not ((ROOT / page).parent / link).exists()]
    assert missing == []

"""MkDocs' hook: files of the repository as pages, and links between files as links between pages.

A link stays as it stands in the repository. One to a file that is no page leads to that file's
address (``extra.repository``); without an address its words alone are left.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "containers/README.md", "kernels/*/README.md")
LINK = re.compile(r"\[([^]\[]+)\]\((?!\w+:|#)([^)#\s]+)([^)\s]*)\)")


def on_files(files, config):
    """Add the pages that lie outside of docs/."""
    for path in sorted(path for pattern in PAGES for path in ROOT.glob(pattern)):
        place = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn links between files of the repository into links between pages."""
    pages = {Path(file.abs_src_path).resolve(): file.src_uri for file in files}
    here = Path(page.file.abs_src_path).resolve().parent

    def link(found):
        words, path, anchor = found.groups()
        target = (here / path).resolve()
        if target in pages:
            folder = posixpath.dirname(page.file.src_uri)
            if words.endswith(".md"):  # a page's name here, a file's there
                words = target.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
            return f"[{words}]({posixpath.relpath(pages[target], folder or '.')}{anchor})"
        if not target.exists():
            return found[0]  # MkDocs says so
        address = config.extra["repository"]
        place = target.relative_to(ROOT).as_posix()
        return f"[{words}]({address}/{place}{anchor})" if address else words

    return LINK.sub(link, markdown)

"""The codes of refusals: those that the source gives, and those that docs/verifying.md explains."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECTION = "## Codes of refusals"
FIRST = {"refuse", "Unreadable"}
"""Functions whose first argument is a code."""
SECOND = {"_refuse"}


@cache
def raised_codes() -> frozenset[str]:
    """Return every code that stands in the source."""
    found: set[str] = set()
    for path in (ROOT / "src" / "assay").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            found.update(_codes(node))
    return frozenset(found)


def _codes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        given = [word.value for word in node.keywords if word.arg == "code"]
        # What other code refuses has its place first, a tuple, and no code.
        first = [one for one in node.args[:1] if not isinstance(one, ast.Tuple)]
        given += first if name in FIRST else []
        given += node.args[1:2] if name in SECOND else []
        for value in given:
            yield from _texts(value)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        names = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
        called = {getattr(name, "id", "") for name in names}
        if "code" in called:
            yield from _texts(node.value)
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        yield from (text for text in _texts(node.value) if text.startswith("yaml-"))


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the codes in an expression: itself, both ways of a choice, the values of a table."""
    if isinstance(node, ast.Dict):
        parts: list[ast.expr] = node.values
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.Tuple):
        parts = node.elts
    elif isinstance(node, ast.Constant) and re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", str(node.value)):
        yield str(node.value)
        return
    else:
        return
    for part in parts:
        yield from _texts(part)


@cache
def documented_codes() -> frozenset[str]:
    """Return every code that the documentation's tables of codes explain."""
    text = (ROOT / "docs" / "verifying.md").read_text()
    section = text.partition(SECTION)[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return frozenset(code for cell in cells for code in re.findall(r"`([a-z0-9-]+)`", cell))

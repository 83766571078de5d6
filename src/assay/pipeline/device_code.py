"""Digests of the device side's code, task by task, so that a change measures again what it touches.

Which modules a task runs is read off their source: nothing of the device side can be imported here.
What cannot change a record (comments, docstrings, layout) is not in a digest.
"""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from assay.shared.files import sha256_bytes

PACKAGE = Path(__file__).resolve().parents[1]
START = "assay.device.__main__"
"""Runs before any task."""
ROOMS = ("device", "ops", "shared")
"""Packages that the device side is made of."""


def code_digest(modules: Iterable[str], package: Path = PACKAGE) -> str:
    """Return the digest of what ``modules`` and everything they import on the device side do.

    ``package`` is the folder of the ``assay`` package, whose source counts as it was when it was
    first asked for in this process.
    """
    return _digest(package, tuple(sorted(imported(modules, package))))


def imported(modules: Iterable[str], package: Path = PACKAGE) -> set[str]:
    """Return ``modules`` with what they import, transitively, of the device side.

    Raises KeyError for a module that there is none of.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(package, name)
    return found


@cache
def _digest(package: Path, modules: tuple[str, ...]) -> str:
    parts = [f"{name} {_meaning(package, name)}" for name in modules]
    return sha256_bytes("\n".join(parts).encode())


@cache
def _sources(package: Path) -> dict[str, Path]:
    """Return every module of the device side: assay.shared.job for shared/job.py."""
    found = {}
    for path in (path for room in ROOMS for path in (package / room).rglob("*.py")):
        parts = ["assay", *path.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def _tree(package: Path, name: str) -> ast.Module:
    return ast.parse(_sources(package)[name].read_text(encoding="utf-8"))


@cache
def _imports(package: Path, name: str) -> frozenset[str]:
    """Return what one module imports anywhere in it, and the packages that this runs on the way."""
    known = _sources(package)
    names = {name}
    for node in ast.walk(_tree(package, name)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    parents = {each.rsplit(".", depth)[0] for each in names for depth in (1, 2)}
    return frozenset(((names | parents) & known.keys()) - {name})


@cache
def _meaning(package: Path, name: str) -> str:
    """Return the digest of what a module does: its statements, but for strings that stand alone."""
    tree = _tree(package, name)
    for node in ast.walk(tree):
        for body in ("body", "orelse", "finalbody"):
            statements = getattr(node, body, None)
            if isinstance(statements, list):
                setattr(node, body, [s for s in statements if not _is_remark(s)])
    return sha256_bytes(_text(tree).encode())


def _text(part: object) -> str:
    """Return a syntax tree as text that is the same for every release of Python.

    ``ast.dump`` is not: releases add fields, change what they print of those that are empty, and
    cut the text of f-strings into pieces in other ways.
    """
    if isinstance(part, list):
        return f"[{','.join(map(_text, part))}]"
    if not isinstance(part, ast.AST):
        return ascii(part)
    if isinstance(part, ast.JoinedStr):
        return f"JoinedStr({_text(_joined(part.values))})"
    given = ((name, getattr(part, name, None)) for name in part._fields)
    fields = (f"{name}={_text(value)}" for name, value in given if value not in (None, []))
    return f"{type(part).__name__}({','.join(fields)})"


def _joined(values: Iterable[ast.expr]) -> list[object]:
    """Return the parts of an f-string, its text in pieces as long as they can be."""
    parts: list[object] = []
    for value in values:
        text = value.value if isinstance(value, ast.Constant) else value
        if isinstance(text, str) and parts and isinstance(parts[-1], str):
            parts[-1] += text
        elif text != "":
            parts.append(text)
    return parts


def _is_remark(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )

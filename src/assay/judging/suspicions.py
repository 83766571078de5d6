"""What in a stranger's file is seldom needed by an honest kernel. It proves nothing. Pure."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from assay.base.printable import shortened
from assay.judging.case import Case
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark

ARM, PARAMETERS = "solution", ("solution", "submission")
"""The arm of a stranger, and the parameters that name its file or folder: as `./assay new --from`
writes them."""
HARMLESS: dict[str, frozenset[str]] = {
    "gc": frozenset({"collect", "disable", "enable", "freeze", "isenabled", "unfreeze"}),
    "inspect": frozenset({"Parameter", "getsource", "isclass", "isfunction", "signature"}),
    "threading": frozenset({"Lock", "RLock", "local"}),
    "ctypes": frozenset(),
}
"""Modules by which a kernel reaches what measures it, and what of each does not."""
FRAMES = frozenset({"_getframe", "setprofile", "settrace"})
OWNERS = ("time", "torch")
"""Modules whose functions measure and compare."""
SETTINGS = frozenset({"backends", "config"})
"""Parts of PyTorch that are there to be assigned to."""


LONGEST = 120
"""Characters of what is named of one file."""


def suspicion_words(case: Case, claim: Claim) -> str:
    """Return a sentence on each file of a stranger's solution that is worth a look; "" for none."""
    asked, code, found = claim.evaluation, case.evidence.project_code, dict[str, str]()
    for term in asked.terms if isinstance(asked, Benchmark) else ():
        arms = {arm.id: arm for arm in case.catalog.comparisons[term.comparison].arms}
        given = case.catalog.workloads[arms[term.arm].workload].parameters
        strange = term.arm == ARM and case.catalog.variants[arms[ARM].variant].kind == "callable"
        for name in PARAMETERS if strange else ():
            file = str(given.get(name, "")).partition(":")[0]
            below = f"{file.removesuffix('.py')}/"
            for path in (each for each in code if each == file or each.startswith(below)):
                if words := suspicions(code[path]):
                    found[path] = shortened(", ".join(words), LONGEST)
    return " ".join(
        f"Worth a look in {path}: {words}; it proves nothing." for path, words in found.items()
    )


@lru_cache(maxsize=64)
def suspicions(source: bytes) -> tuple[str, ...]:
    """Return what stands in a Python file; nothing where it does not parse."""
    try:
        return _suspicions(list(ast.walk(ast.parse(source))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _suspicions(nodes: list[ast.AST]) -> tuple[str, ...]:
    bound = dict(pair for node in nodes for pair in _imported(node))
    inside = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    found = {name for node in nodes for name in _assigned(node, bound)}
    for node in nodes:
        name = _dotted(node, bound)
        if name is not None and not (id(node) in inside and name in HARMLESS):
            found |= {name} if _watched(name) else set()
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {name for name in _imported_names(node) if _watched(name)}
        if isinstance(node, ast.Constant) and node.value in HARMLESS:
            found.add(str(node.value))
    return tuple(sorted(found))


def _watched(name: str) -> bool:
    module, _, rest = name.partition(".")
    if module in HARMLESS:
        return rest.partition(".")[0] not in HARMLESS[module]
    return module == "sys" and rest in FRAMES


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that an import binds, each with what it stands for."""
    if isinstance(node, ast.Import):
        for each in node.names:
            top = each.name.partition(".")[0]
            yield (each.asname, each.name) if each.asname else (top, top)
    if isinstance(node, ast.ImportFrom) and node.module:
        names = [each.asname or each.name for each in node.names]
        yield from zip(names, _imported_names(node), strict=True)


def _imported_names(node: ast.ImportFrom) -> list[str]:
    return [f"{node.module}.{each.name}" for each in node.names]


def _dotted(node: ast.AST, bound: dict[str, str]) -> str | None:
    """Return what a chain of attributes stands for; None where it begins with no import."""
    if isinstance(node, ast.Name):
        return bound.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, bound)
        return owner and f"{owner}.{node.attr}"
    return None


def _assigned(node: ast.AST, bound: dict[str, str]) -> Iterator[str]:
    """Yield ``torch.x = ...`` for what a statement replaces of the modules that measure."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [part for each in node.targets for part in getattr(each, "elts", [each])]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    names = [_dotted(each, bound) for each in targets if isinstance(each, ast.Attribute)]
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "setattr" and node.args:
        owner = _dotted(node.args[0], bound)
        names.append(owner and f"{owner}.*")
    for name in names:
        parts = (name or "").split(".")
        if parts[0] in OWNERS and not SETTINGS & set(parts):
            yield f"{name} = ..."

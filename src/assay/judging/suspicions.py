"""What is seldom so of an honest kernel that a stranger wrote. It proves nothing. Pure."""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from statistics import median

from assay.base.printable import shortened
from assay.judging.case import Case
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark, Term
from assay.records.measurements import ArmCorrectness, Process
from assay.records.units import number
from assay.records.workloads import Workload

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
COARSER = 4.0
"""Errors of an arm over those of its reference. Honest kernels were seen up to 2.1."""
SLOWER = 1.1
"""Times of a reference beside a solution over those alone. A GPU's clock changes by less between
two processes."""
UNSEEN = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 1e-5}
"""Relative errors by element type that are too small to speak of: two roundings of a result of 16
bits; in float32 a hundredth of what TF32 leaves."""


def suspicion_words(case: Case, claim: Claim, target: str) -> str:
    """Return a sentence on each thing in a stranger's solution that is worth a look; "" for
    none.
    """
    asked = claim.evaluation
    strange = [
        (term, workload)
        for term in (asked.terms if isinstance(asked, Benchmark) else ())
        if (workload := _of_project(case, term)) is not None
    ]
    files = {
        path: words
        for term, workload in strange
        for path, words in (_files(case, workload) if term.arm == ARM else ())
    }
    told = [words for term, each in strange for words in _of_gate(case, target, term, each)]
    told += [words for term, _ in strange for words in _of_reference(case, target, term)]
    found = [
        f"Worth a look in {path}: {words}; it proves nothing." for path, words in files.items()
    ]
    return " ".join([*dict.fromkeys(told), *found])


def _of_project(case: Case, term: Term) -> Workload | None:
    """Return the problem of an arm that a project's code computes; None for another."""
    arm = case.catalog.comparisons[term.comparison].arm(term.arm)
    called = case.catalog.variants[arm.variant].kind == "callable"
    return case.catalog.workloads[arm.workload] if called else None


def _files(case: Case, workload: Workload) -> Iterator[tuple[str, str]]:
    """Yield each file of a solution that is worth a look, and what stands there."""
    code = case.evidence.project_code
    for name in PARAMETERS:
        file = str(workload.parameters.get(name, "")).partition(":")[0]
        plain = file.removesuffix(".py")
        folder, _, stem = plain.rpartition("/")
        below = f"{folder if folder.endswith(f'/{stem}') else plain}/"
        for path in (each for each in code if file and (each == file or each.startswith(below))):
            if words := suspicions(code[path]):
                yield path, shortened(", ".join(words), LONGEST)


def _of_gate(case: Case, target: str, term: Term, workload: Workload) -> Iterator[str]:
    """Yield what the gate lets pass of an arm that is right, in a sentence each."""
    record = case.evidence.correctness.get((target, term.comparison))
    arms = {each.arm: each for each in record.arms if each.status == "correct"} if record else {}
    own, over = arms.get(term.arm), arms.get(term.over or "")
    if own is not None and own.fixed_inputs:
        yield "Its problem draws the same inputs for every seed, so a result that was kept passes."
    if own is not None and over is not None:
        error, known = _largest_error(own), _largest_error(over)
        if error > max(COARSER * known, UNSEEN.get(workload.dtype, 1.0)):
            than = f"{over.arm} is off by {number(known)}"
            yield f"It is off by {number(error)} where {than}: it may compute in less precision."


def _of_reference(case: Case, target: str, term: Term) -> Iterator[str]:
    """Yield a sentence where what an arm is held against is slower beside it than alone."""
    record = case.evidence.benchmarks.get((target, term.comparison))
    if record is None or record.alone is None or term.over is None:
        return
    alone = _typical_ms([record.alone], term.over)
    beside = _typical_ms(record.processes, term.over)
    if alone and beside and beside / alone > SLOWER:
        yield f"{term.over} takes {number(beside / alone)} times as long beside it as alone."


def _typical_ms(processes: Iterable[Process], arm: str) -> float | None:
    """Return the median over an arm's turns that nothing disturbed; None where there is none."""
    blocks = (block for process in processes for block in process.blocks if block.void is None)
    turns = [median(turn.times_ms) for each in blocks for turn in each.turns if turn.arm == arm]
    return median(turns) if turns else None


def _largest_error(arm: ArmCorrectness) -> float:
    return max((check.relative_error or 0.0 for check in arm.checks), default=0.0)


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

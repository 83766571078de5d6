"""What can be said of a project's function without running it: is it there, can it be called."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.base.yaml_problems import suggest
from assay.records.workloads import Workload
from assay.shared.project_calls import GIVEN
from assay.shared.read_limits import MOST_CODE, MOST_CODE_LINE
from assay.shared.specs import CodeSpec

Function = ast.FunctionDef | ast.AsyncFunctionDef


def function_problems(folder: Path, workload: Workload) -> Iterator[tuple[int, str]]:
    """Yield (line, what would keep the function of a measurement from being called)."""
    code = workload.code
    assert code is not None
    try:
        function = _function(folder, code)
    except BadInput as error:
        yield 1, str(error)
        return
    for says in _call_problems(function, workload) if function else ():
        yield function.lineno if function else 1, f"{code.function} {says}"


def _function(folder: Path, code: CodeSpec) -> Function | None:
    """Return a function; None where its name is assigned. Raises BadInput where there is none."""
    text = read_text(folder / code.file, MOST_CODE)
    if any(len(line) > MOST_CODE_LINE for line in text.splitlines()):
        raise BadInput(f"has a line of more than {MOST_CODE_LINE:,} characters")
    try:
        body = _parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        says = getattr(error, "msg", None) or error
        raise BadInput(f"is no Python that can be read, in line {line}: {says}") from error
    functions = {node.name: node for node in body if isinstance(node, Function)}
    assigned = (target for node in body if isinstance(node, ast.Assign) for target in node.targets)
    if code.function in functions:
        return functions[code.function]
    if code.function not in [each.id for each in assigned if isinstance(each, ast.Name)]:
        meant = suggest(code.function, functions)
        raise BadInput(f"defines no function '{code.function}'{meant}")
    return None


@lru_cache(maxsize=64)
def _parsed(text: str) -> list[ast.stmt]:
    """Return the statements of a file, which many measurements name."""
    return ast.parse(text).body


def _call_problems(function: Function, workload: Workload) -> Iterator[str]:
    given, arguments = [*workload.parameters, GIVEN], function.args
    if arguments.posonlyargs:
        yield f"takes '{arguments.posonlyargs[0].arg}' by its place alone"
    taken = [each.arg for each in (*arguments.args, *arguments.kwonlyargs)]
    for name in given if arguments.kwarg is None else ():
        if name not in taken:
            yield f"takes no '{name}', which it is called with{suggest(name, taken)}"
    defaults = [None] * (len(arguments.args) - len(arguments.defaults))
    filled = (*defaults, *arguments.defaults, *arguments.kw_defaults)
    for name, default in zip(taken, filled, strict=True):
        if default is None and name not in given:
            yield f"needs '{name}', which no parameter gives{suggest(name, given)}"

"""What can be said of a project's code without running it: functions, and the words in them."""

import ast
from collections.abc import Iterator
from pathlib import Path

from assay.base.io import read_text
from assay.base.yaml_problems import suggest
from assay.records.workloads import Workload


def code_problems(folder: Path, workload: Workload, arms: list[str]) -> Iterator[str]:
    """Yield what would keep a project's function from being called, or from answering.

    ``folder``: the project's. Nothing is imported: what a function makes up as it runs is not seen.
    """
    code = workload.code
    assert code is not None
    try:
        tree = ast.parse(read_text(folder / code.file))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield f"{code.file}: is no Python that can be read: {error}"
        return
    functions = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if code.function not in functions:
        if code.function not in assigned:
            meant = suggest(code.function, functions)
            yield f"{code.file} defines no function '{code.function}'{meant}"
        return
    yield from _call_problems(code.file, functions[code.function], workload)
    words = set(_words(tree))
    for name in ("inputs", "oracle"):
        if name not in words:
            yield f"{code.file}: nothing there is called '{name}': the function must return one"
    for arm in arms:
        if arm not in words:
            meant = suggest(arm, words)
            yield f"{code.file}: nothing there is called '{arm}', which is an arm{meant}"


def _call_problems(
    file: str, function: ast.FunctionDef | ast.AsyncFunctionDef, workload: Workload
) -> Iterator[str]:
    """Yield how a call with the parameters and ``device`` does not fit."""
    given = [*workload.parameters, "device"]
    arguments = function.args
    if arguments.posonlyargs:
        yield f"{file}:{function.name} takes '{arguments.posonlyargs[0].arg}' by its place alone"
    taken = [each.arg for each in (*arguments.args, *arguments.kwonlyargs)]
    if arguments.kwarg is None:
        for name in given:
            if name not in taken:
                meant = suggest(name, taken)
                yield f"{file}:{function.name} takes no '{name}', which it is called with{meant}"
    defaults = len(arguments.defaults)
    needed = [each.arg for each in arguments.args[: len(arguments.args) - defaults]]
    needed += [
        each.arg
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    for name in needed:
        if name not in given:
            yield f"{file}:{function.name} needs '{name}', which no parameter gives"


def _words(tree: ast.Module) -> Iterator[str]:
    """Yield every name and text of a file: what a returned mapping's keys can be made of."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text):
                yield text
            case ast.FunctionDef(name=name) | ast.Name(id=name) | ast.keyword(arg=str() as name):
                yield name

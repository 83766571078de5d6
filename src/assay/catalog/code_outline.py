"""What can be said of a project's code without running it: functions, and the words in them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.base.yaml_problems import suggest
from assay.records.workloads import Workload
from assay.shared.project_case import GIVEN
from assay.shared.read_limits import MOST_CODE, MOST_CODE_LINE, MOST_CODE_TOGETHER

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class CodeProblem:
    """One thing that is wrong with a project's code, and where."""

    file: str
    line: int
    says: str


@dataclass(frozen=True)
class Outline:
    """What a file defines."""

    functions: dict[str, Function]
    assigned: frozenset[str]
    words: frozenset[str]
    """Every name and text in it."""


@dataclass
class CodeOutlines:
    """The files of a project that are asked for, each read once. Nothing of them is imported: what
    a function makes up as it runs is not seen.
    """

    folder: Path
    """The project's."""
    known: dict[str, Outline | CodeProblem] = field(default_factory=dict)
    """By file; where there is no outline, what is wrong."""
    characters: int = 0
    """Of all files so far."""

    def problems(self, workload: Workload, arms: list[str]) -> Iterator[CodeProblem]:
        """Yield what would keep a function from being called, or from answering."""
        outline = self._outline(workload)
        if isinstance(outline, CodeProblem):
            yield outline
        else:
            yield from _problems(outline, workload, arms)

    def words(self, workload: Workload) -> frozenset[str]:
        """Return every name and text of a measurement's file; none where it cannot be read."""
        outline = self._outline(workload)
        return frozenset() if isinstance(outline, CodeProblem) else outline.words

    def _outline(self, workload: Workload) -> Outline | CodeProblem:
        code = workload.code
        assert code is not None
        if code.file not in self.known:
            self.known[code.file] = self._read(code.file)
        return self.known[code.file]

    def _read(self, file: str) -> Outline | CodeProblem:
        """Return a file's outline, or why there is none."""
        try:
            text = read_text(self.folder / file, MOST_CODE)
        except BadInput as error:
            return CodeProblem(file, 1, str(error))
        self.characters += len(text)
        if self.characters > MOST_CODE_TOGETHER:
            says = f"is not looked into: measurements name more than {MOST_CODE_TOGETHER:,} bytes"
            return CodeProblem(file, 1, says)
        for number, line in enumerate(text.splitlines(), start=1):
            if len(line) > MOST_CODE_LINE:
                says = f"has a line of more than {MOST_CODE_LINE:,} characters"
                return CodeProblem(file, number, says)
        try:
            return _outline(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            says = f"is no Python that can be read: {getattr(error, 'msg', None) or error}"
            return CodeProblem(file, getattr(error, "lineno", None) or 1, says)


def _outline(tree: ast.Module) -> Outline:
    return Outline(
        functions={node.name: node for node in tree.body if isinstance(node, Function)},
        assigned=frozenset(
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ),
        words=frozenset(_words(tree)),
    )


def _problems(outline: Outline, workload: Workload, arms: list[str]) -> Iterator[CodeProblem]:
    code = workload.code
    assert code is not None
    function = outline.functions.get(code.function)
    if function is None:
        if code.function not in outline.assigned:
            meant = suggest(code.function, outline.functions)
            yield CodeProblem(code.file, 1, f"defines no function '{code.function}'{meant}")
        return
    for says in _call_problems(function, workload):
        yield CodeProblem(code.file, function.lineno, f"{function.name} {says}")
    words = outline.words
    for name in ("inputs", "oracle"):
        if name not in words:
            meant = suggest(name, sorted(words))
            says = f"nothing there is called '{name}': the function must return one{meant}"
            yield CodeProblem(code.file, function.lineno, says)
    for arm in arms:
        if arm not in words:
            meant = suggest(arm, sorted(words))
            says = f"nothing there is called '{arm}', which is an arm{meant}"
            yield CodeProblem(code.file, function.lineno, says)


def _call_problems(function: Function, workload: Workload) -> Iterator[str]:
    """Yield how a call with the parameters and ``device`` does not fit."""
    given = [*workload.parameters, GIVEN]
    arguments = function.args
    if arguments.posonlyargs:
        yield f"takes '{arguments.posonlyargs[0].arg}' by its place alone"
    taken = [each.arg for each in (*arguments.args, *arguments.kwonlyargs)]
    if arguments.kwarg is None:
        for name in given:
            if name not in taken:
                meant = suggest(name, taken)
                yield f"takes no '{name}', which it is called with{meant}"
    defaults = len(arguments.defaults)
    needed = [each.arg for each in arguments.args[: len(arguments.args) - defaults]]
    needed += [
        each.arg
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    for name in needed:
        if name not in given:
            meant = suggest(name, given)
            yield f"needs '{name}', which no parameter gives{meant}"


def _words(tree: ast.Module) -> Iterator[str]:
    """Yield every name and text of a file: what a returned mapping's keys can be made of."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text):
                yield text
            case ast.FunctionDef(name=name) | ast.Name(id=name) | ast.keyword(arg=str() as name):
                yield name

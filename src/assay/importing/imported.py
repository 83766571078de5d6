"""A project made of pairs, each a solution and the reference that it is held against."""

import ast
import contextlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from assay.base.errors import BadInput
from assay.building.recipe import INCLUDE
from assay.catalog.project_folder import CODE, MOST_BYTES, MOST_FILES, PROJECT_FILE, is_name
from assay.records.base import ID_PATTERN
from assay.shared.counting import counted
from assay.shared.files import sha256_bytes, write_bytes
from assay.shared.read_limits import MOST_YAML

VALUES = "assay_values.py"
"""File of ``adapters`` that all of the others import."""
LONGEST_ID = 80
LONGEST_PAIR = LONGEST_ID - len("_reference")
"""Of a pair's id, behind which its arms' names are written."""
MOST_SOURCE = 1_000_000
"""Bytes of one file that is read: what a kernel's author writes."""
SOURCES = (".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hpp")
"""Endings of what a solution may compile when it is imported."""
TOLERANCES = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}
"""Largest relative error by element type, as KernelBench sets it for its comparisons."""
TF32 = re.compile(
    rb"\b(?:Lazy)?[Cc]onv(?:Transpose|_transpose)?[123]d\b|\b(?:LSTM|GRU|RNN)\b"
    rb"|allow_tf32\s*=\s*True|set_float32_matmul_precision"
)
"""What PyTorch computes in TF32 where it is given float32: its products round as float16's do."""


@dataclass(frozen=True)
class Pair:
    """A solution and its reference on one problem."""

    id: str
    """Of the measurement and of the claim."""
    title: str
    solution: str
    parameters: Mapping[str, Any]
    file: str
    dtype: str = "float32"
    relative_tolerance: float | None = None
    """By default that of the element type."""
    called: str = ""
    """The solution: its path without ending, say; a list of claims gives the last parts of it."""
    speedup: float | None = None
    """As it is claimed; None where nobody claims one."""


@dataclass
class Imported:
    """What a format's files come to, before anything is written."""

    title: str
    adapter: str
    """File of ``adapters`` whose ``case`` makes the inputs, the arms and the right answer."""
    pairs: list[Pair] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    """Of the files of others, by their names below the project."""
    left_out: list[str] = field(default_factory=list)
    """A sentence on each that is no pair."""
    lost: dict[str, str] = field(default_factory=dict)
    """The same sentences, by what a list of claims calls the solution."""

    @contextlib.contextmanager
    def leaving_out(self, path: Path, called: str = "") -> Iterator[None]:
        """Leave ``path`` out, and say why, where what is done with it fails: one file of a stranger
        that is not of the format is no reason to take none. ``called`` as a pair has it.
        """
        contents, pairs = dict(self.contents), list(self.pairs)
        try:
            yield
        except (
            AttributeError,
            BadInput,
            LookupError,
            OSError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            self.contents, self.pairs = contents, pairs
            says = f"{path}: is not of the format: {type(error).__name__}: {error}"
            if isinstance(error, OSError):
                says = f"{path}: a file that it names cannot be read: {error.strerror}"
            elif isinstance(error, BadInput):
                says = str(error) if str(path.parent) in str(error) else f"{path}: {error}"
            self.lost[called or str(path.with_suffix(""))] = says
            if says not in self.left_out:
                self.left_out.append(says)

    def add(self, name: str, content: bytes) -> None:
        """Take a file along. Raises BadInput for a name that no project can have, or that another
        file has already.
        """
        if not is_name(name) or any(part.startswith("_") for part in name.split("/")[:-1]):
            raise BadInput(f"'{name}' is no name that a file of a project can have")
        if self.contents.setdefault(name, content) != content:
            raise BadInput(f"two files would be called '{name}': rename one of them")


def write_project(folder: Path, imported: Imported, head: str) -> tuple[str, ...]:
    """Write the project into an empty folder; return the names of its own files. Raises BadInput
    where there is nothing to measure, or more than a project holds.

    ``head``: first lines of its assay.yaml.
    """
    if not imported.pairs:
        why = "; ".join(imported.left_out[:3]) or "there is no file of that format"
        raise BadInput(f"no pair of a reference and a solution was found: {why}")
    imported.pairs = _called_apart(imported.pairs)
    many, size = len(imported.contents) + 1, sum(map(len, imported.contents.values()))
    if many > MOST_FILES or size > MOST_BYTES:
        most = f"a project holds {MOST_FILES} and {MOST_BYTES:,} bytes; take fewer pairs"
        raise BadInput(f"{counted(many, 'file')} of {size:,} bytes: {most}")
    folders = {str(each) for name in imported.contents for each in PurePosixPath(name).parents}
    if clash := sorted(folders & imported.contents.keys()):
        raise BadInput(f"'{clash[0]}' would be a file and a folder: rename one of them")
    text = yaml.safe_dump(_document(imported), sort_keys=False, allow_unicode=True, width=100)
    if len(text.encode()) > MOST_YAML:
        most = f"{PROJECT_FILE} holds {MOST_YAML:,} bytes at most; take fewer"
        raise BadInput(f"{counted(len(imported.pairs), 'pair')}: {most}")
    own = imported.adapter, VALUES
    adapters = files("assay.importing").joinpath("adapters")
    for name, content in imported.contents.items():
        write_bytes(folder / name, content)
    for name in own:
        write_bytes(folder / name, adapters.joinpath(f"{name}.txt").read_bytes())
    write_bytes(folder / PROJECT_FILE, f"{head}{text}".encode())
    return PROJECT_FILE, *own


def _called_apart(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs, those that have the id of an earlier one with a number behind it."""
    found: dict[str, Pair] = {}
    for pair in pairs:
        short = pair.id[:LONGEST_PAIR].rstrip("_")
        others = (f"{short[: LONGEST_PAIR - 5]}_{number}" for number in count(2))
        name = next(each for each in chain([short], others) if each not in found)
        found[name] = replace(pair, id=name)
    return list(found.values())


def _document(imported: Imported) -> dict[str, Any]:
    others = [name for name in imported.contents if not name.endswith(CODE)]
    return {
        "schema": "assay/project/1",
        "title": imported.title,
        "sources": [{"id": "solutions", "title": imported.title}],
        "measurements": [_measurement(imported, pair) for pair in imported.pairs],
        "claims": [_claim(pair) for pair in imported.pairs],
        **({"files": others} if others else {}),
    }


def _measurement(imported: Imported, pair: Pair) -> dict[str, Any]:
    return {
        "id": pair.id,
        "title": pair.title,
        "callable": f"{imported.adapter}:case",
        "parameters": dict(pair.parameters),
        "arms": {"solution": pair.solution, "reference": "the reference, as its problem has it"},
        "dtype": pair.dtype,
        "relative_tolerance": pair.relative_tolerance or TOLERANCES[pair.dtype],
        "artifact": "original",
    }


def _claim(pair: Pair) -> dict[str, Any]:
    claimed = pair.speedup is not None
    says = f"is {pair.speedup:.10g} times as fast as" if claimed else "is at least as fast as"
    return {
        "id": pair.id,
        "statement": f"{pair.solution} {says} the reference: {pair.title}",
        "place": {"section": pair.file, "line": 1},
        "value": f"{pair.speedup:.10g}x" if claimed else "1x",
        **({} if claimed else {"relation": "at_least"}),
        "answer": {"measurement": pair.id, "arm": "solution", "over": "reference"},
    }


def identifier(*words: str) -> str:
    """Return an id made of words: lower case, other characters as underscores; of long ones the
    beginning, and what tells them apart.
    """
    text = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower()).strip("_")
    text = text if re.match(r"[a-z]", text) else f"p{text}"
    if len(text) > LONGEST_ID:
        text = f"{text[: LONGEST_ID - 9].rstrip('_')}_{sha256_bytes(text.encode())[:8]}"
    assert re.fullmatch(ID_PATTERN, text), text
    return text


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """Return an id for each path: its name, and as many folders before it as tell all apart."""
    left, found, deep = list(dict.fromkeys(paths)), dict[Path, str](), 0
    while left and deep < max(len(path.parts) for path in left):
        deep += 1
        named = {path: identifier(*path.with_suffix("").parts[-deep:]) for path in left}
        seen = [*found.values(), *named.values()]
        found |= {path: name for path, name in named.items() if seen.count(name) == 1}
        left = [path for path in left if path not in found]
    for number, path in enumerate(left, start=1):  # they differ in what no id holds
        found[path] = identifier(f"{identifier(path.stem)[: LONGEST_ID - 8]}_{number}")
    return found


def defined_names(data: bytes, missing: str) -> set[str]:
    """Return the names that a Python file binds at its top, under a condition, too; ``missing``
    where it does not parse and speaks of that: a solution that will fail.
    """
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {missing} if missing.encode() in data else set()
    found: set[str] = set()
    while body:
        node = body.pop()
        if isinstance(node, ast.If | ast.Try | ast.With):
            body += [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
            body += [each for part in getattr(node, "handlers", ()) for each in part.body]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {each.asname or each.name for each in node.names}
    return found


def helpers_of(path: Path, data: bytes) -> dict[str, bytes]:
    """Return the files beside ``path`` that it imports or names, a CUDA source say, and those that
    they do, by their names from its folder on. Raises BadInput for one that lies elsewhere.
    """
    found: dict[str, bytes] = {}
    left = [("", data)]
    while left:
        for name in sorted(_named_files(*left.pop())):
            own = path.parent / name
            if name not in found and own != path and own.is_file():
                found[name] = read_below(path.parent, name)
                left.append((name, found[name]))
    return found


def _named_files(file: str, data: bytes) -> set[str]:
    """Return the files that a Python file may import or names; of others, the includes."""
    if file.endswith(SOURCES):
        included = INCLUDE.findall(data.decode("utf-8", "replace"))
        names = (str(PurePosixPath(file).parent / name) for name in included)
        return {name for name in names if is_name(name)}
    texts: set[str] = set()
    modules: list[list[str]] = []
    beside: list[list[str]] = []
    try:
        nodes = list(ast.walk(ast.parse(data)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return texts
    for node in nodes:
        if isinstance(node, ast.Import):
            modules += [each.name.split(".") for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _package(file, node.level) + (node.module.split(".") if node.module else [])
            into = beside if node.level else modules  # `from .types` is never the library's
            into += [[*base, each.name] for each in node.names]
        elif (name := "/".join(_joined(node)).lstrip("/")).endswith(SOURCES) and is_name(name):
            texts.add(name)
    own = beside + [parts for parts in modules if parts[0] not in sys.stdlib_module_names]
    paths = {"/".join(parts[: n + 1]) for parts in own for n in range(len(parts))}
    return texts | {f"{name}{end}" for name in paths for end in (".py", "/__init__.py")}


def _joined(node: ast.AST) -> list[str]:
    """Return the texts in order that os.path.join puts together, or the operator of paths."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return [*_joined(left), *_joined(right)]
        case ast.Call(args=parts):
            return [text for part in parts for text in _joined(part)]
    return []


def _package(file: str, level: int) -> list[str]:
    """Return the folders that a relative import of this level begins with; none for level 0."""
    folders, up = file.split("/")[:-1] if level else [], max(0, level - 1)
    return [".."] * (up - len(folders)) + folders[: max(0, len(folders) - up)]


def read_below(folder: Path, name: str, *, up: int = 0) -> bytes:
    """Return a file that others name, below ``folder`` or so many folders above it. Raises BadInput
    for one elsewhere: what is imported is published with the report.
    """
    top, path = folder.resolve(), (folder / name).resolve()
    for _ in range(up):
        top = top.parent
    if Path(name).is_absolute() or not path.is_relative_to(top):
        raise BadInput(f"{folder}: '{name}' lies elsewhere, and is not taken along")
    return read_source(path)


def read_source(path: Path) -> bytes:
    """Return a file of others. Raises BadInput for one that nobody wrote by hand."""
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file")
    data = path.read_bytes()
    if len(data) > MOST_SOURCE:
        raise BadInput(f"{path}: has more than {MOST_SOURCE:,} bytes")
    return data


def below(paths: Sequence[Path], *endings: str) -> list[Path]:
    """Return the files of these endings among ``paths`` and in the folders among them, sorted; none
    of a project that one of these holds, as `./assay new` leaves one.

    Raises BadInput for a path that is not there.
    """
    found: list[Path] = []
    for given in paths:
        path = given.resolve() if given.is_dir() else given.parent.resolve() / given.name
        if path.is_dir():
            made = {each.parent for each in path.rglob(PROJECT_FILE)} - {path}
            inside = (each for each in path.rglob("*") if made.isdisjoint(each.parents))
            every = (each for each in inside if each.is_file() and not _hidden(each, path))
            found += sorted(each for each in every if each.name.endswith(endings))
        elif path.is_file():
            found.append(path)
        else:
            raise BadInput(f"{given}: there is no such file or folder")
    return list(dict.fromkeys(found))


def _hidden(path: Path, top: Path) -> bool:
    return any(part[0] in "._" for part in path.relative_to(top).parts[:-1])


def dtype_in(data: bytes) -> str:
    """Return the element type that a source names for its inputs, as PyTorch's type or by a method
    that converts to it; float32 where it names none.
    """
    names = set[str]()
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        for node in ast.walk(ast.parse(data)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                names.add(node.func.attr)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names.add(node.attr if node.attr != "half" or node.value.id == "torch" else "")
            elif isinstance(node, ast.ImportFrom) and node.module == "torch":
                names |= {each.name for each in node.names}
    half = names & {"float16", "half"}
    return "bfloat16" if "bfloat16" in names else "float16" if half else "float32"

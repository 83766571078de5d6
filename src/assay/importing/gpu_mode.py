"""GPU MODE: a folder with ``task.yml`` and ``reference.py`` (``generate_input``, ``ref_kernel``,
``check_implementation``), and submissions that define ``custom_kernel``.

The format is that of the tasks in gpu-mode/reference-kernels.
"""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from assay.base.errors import BadInput
from assay.importing.imported import (
    TOLERANCES,
    Imported,
    Pair,
    below,
    defined_names,
    dtype_in,
    identifier,
    read_below,
    read_source,
    short_names,
)

TASK = "task.yml"
SUBMISSION = "@SUBMISSION@"
HEADER = "#!POPCORN"
"""Begins a line for GPU MODE's bot among a submission's first comments."""
TRIAL = "-dev"
"""Ends the name of a leaderboard on which a task's author tries it."""


def import_gpu_mode(paths: Sequence[Path]) -> Imported:
    """Return each submission at each benchmark of its task: the one in its folder, or of the
    leaderboard that its header names, or, where it names none, the only one.

    Raises BadInput for a path that is not there.
    """
    imported = Imported("Submissions to GPU MODE's tasks", "gpu_mode.py")
    listed = [path for path in below(paths, TASK) if path.name == TASK]
    harness: set[Path] = set()
    templates: set[Path] = set()
    named, tasks = short_names(path.parent for path in listed), dict[Path, dict[str, Any]]()
    for path in listed:
        with imported.leaving_out(path):
            task = _task(path)
            harness |= {(path.parent / str(each.get("source"))).resolve() for each in _files(task)}
            _take_task(imported, path.parent, f"tasks/{named[path.parent]}", task)
            given = (task.get("templates") or {}).values()
            templates |= {(path.parent / name).resolve() for name in given}
            tasks[path.parent] = task
    boards = _leaderboards(imported, paths, named)
    for path in below(paths, ".py"):
        if path.suffix != ".py" or path.resolve() in harness | templates:
            continue
        with imported.leaving_out(path):
            if "custom_kernel" not in defined_names(read_source(path), "custom_kernel"):
                continue
            own = _task_of(path, named, boards)
            if own not in tasks:
                raise BadInput(f"{path}: its task is left out: {own / TASK}")
            _add(imported, own, named[own], tasks[own], path)
    if tasks and not imported.pairs and not imported.left_out:
        says = f"{next(iter(tasks))}: no submission defines custom_kernel at its top"
        given = next((f"; {each} is a template: copy it" for each in sorted(templates)), "")
        imported.left_out.append(f"{says}{given}")
    return imported


def _leaderboards(
    imported: Imported, paths: Sequence[Path], tasks: Iterable[Path]
) -> dict[str, set[Path]]:
    """Return folders of tasks by leaderboard: their own, and those of a competition's list."""
    found: dict[str, set[Path]] = {}
    for folder in tasks:
        found.setdefault(folder.name, set()).add(folder)
    for path in below(paths, ".yaml"):
        with imported.leaving_out(path):
            if path.suffix != ".yaml" or b"problems" not in path.read_bytes():
                continue
            for entry in _yaml(path)["problems"]:
                folder = (path.parent / str(entry["directory"])).resolve()
                found.setdefault(str(entry["name"]), set()).add(folder)
    return found


def _header(data: bytes) -> dict[str, list[str]]:
    """Return what a submission's first comments say to GPU MODE's bot: leaderboard, gpu."""
    lines = data.decode("utf-8-sig", "replace").splitlines()
    words = (line.split() for line in takewhile(lambda line: line.startswith("#"), lines))
    said = (each for each in words if each[0] == HEADER and len(each) > 2)
    return {key.lower().removesuffix("s"): values for _, key, *values in said}


def _task_of(path: Path, named: Mapping[Path, str], boards: Mapping[str, set[Path]]) -> Path:
    """Return the folder of a submission's task. Raises BadInput where it may be another."""
    around = [each for each in path.parents if each in named]
    name = _header(read_source(path)).get("leaderboard", [""])[0]
    found = boards.get(name) or boards.get(name.removesuffix(TRIAL)) or set()
    fit = [each for each in named if each in found]
    if around and fit and around[0] not in fit:
        raise BadInput(f"{path}: its header names the leaderboard '{name}', of another task")
    fit = around[:1] or fit or ([] if name else [*named])
    if len(fit) != 1:
        of = f"of the leaderboard '{name}', which its header names" if name else "that it is for"
        raise BadInput(f"{path}: {'more than one' if name and fit else 'no'} {TASK} was found {of}")
    return fit[0]


def _yaml(path: Path) -> Any:
    source = read_source(path)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(source)):
            raise BadInput(f"{path}: an alias (*name) is not read here: a few can make any size")
        return yaml.safe_load(source)
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: is no YAML: {' '.join(str(error).split())[:200]}") from error


def _task(path: Path) -> dict[str, Any]:
    found = _yaml(path)
    shapes = found.get("benchmarks") if isinstance(found, dict) else None
    if not isinstance(shapes, list) or not shapes:
        raise BadInput(f"{path}: lists no benchmarks")
    if found.get("multi_gpu"):
        raise BadInput(f"{path}: is a task for several GPUs: only those for one are measured here")
    for shape in [*shapes, *(found.get("tests") or ())]:
        if not isinstance(shape, dict):
            raise BadInput(f"{path}: '{shape}' is no test or benchmark: name its sizes")
        try:
            json.dumps(shape)
        except TypeError as error:
            raise BadInput(f"{path}: {shape}: has a value that no JSON can hold") from error
    return dict(found)


def _files(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    return task.get("files") or [{"name": "reference.py", "source": "reference.py"}]


def _take_task(imported: Imported, folder: Path, place: str, task: Mapping[str, Any]) -> None:
    """Take a task's files, but for its harness, which Assay takes the place of."""
    main = (task.get("config") or {}).get("main", "eval.py")
    for entry in _files(task):
        name, source = str(entry.get("name", "")), str(entry.get("source", ""))
        if source == SUBMISSION or name == main or not name.endswith(".py"):
            continue
        if "/" in name or not name.isprintable():
            raise BadInput(f"{folder / TASK}: '{name}' is no name of a file beside the task")
        if (folder / source).resolve().suffix != ".py":
            raise BadInput(f"{folder / TASK}: '{source}' is no Python file, as '{name}' has to be")
        imported.add(f"{place}/{name}", read_below(folder, source, up=2))
    if f"{place}/reference.py" not in imported.contents:
        raise BadInput(f"{folder / TASK}: lists no reference.py, which has the right answer")
    reference = imported.contents[f"{place}/reference.py"]
    defined = defined_names(reference, "")
    if lacks := sorted({"generate_input", "ref_kernel"} - defined):
        raise BadInput(f"{folder / TASK}: its reference.py defines no {lacks[0]}")
    uses = {node.id for node in ast.walk(ast.parse(reference)) if isinstance(node, ast.Name)}
    if "check_implementation" in defined and "ref_kernel" not in uses:
        says = "its check takes other answers than the reference's, which outputs are held against"
        raise BadInput(f"{folder / TASK}: {says} here")


def _add(imported: Imported, folder: Path, named: str, task: Mapping[str, Any], path: Path) -> None:
    place = f"tasks/{named}"
    source = imported.contents.get(f"{place}/reference.py", b"")
    reference = source.decode("utf-8", "replace")
    inside = path.relative_to(folder).parts if folder in path.parents else path.parts[-2:]
    own, data = "", read_source(path)
    for deep in range(len(inside), len(path.parts) + 1):  # as many folders as tell it apart
        own = identifier(*path.with_suffix("").parts[-deep:])
        if imported.contents.get(f"{place}/submissions/{own}.py", data) == data:
            break
    file, meant = f"{place}/submissions/{own}.py", _header(data).get("gpu", [])
    who = f"custom_kernel of {'/'.join(path.parts[-deep:])}"
    imported.add(file, data)
    dtype = dtype_in(source)
    tests = [_shape(shape) for shape in task.get("tests") or []]
    for number, benchmark in enumerate(task["benchmarks"], start=1):
        shape = _shape(benchmark)
        words = ", ".join(f"{name}={value}" for name, value in shape.items())
        imported.pairs.append(
            Pair(
                id=identifier(named, own, str(number)),
                title=f"{folder.name}, {words}",
                solution=f"{who} for {' and '.join(meant)}" if meant else who,
                parameters={
                    "task": place,
                    "submission": file,
                    "shape": json.dumps(shape),
                    "tests": json.dumps(tests),
                },
                file=file,
                dtype=dtype,
                relative_tolerance=max(_rtol(reference), TOLERANCES[dtype]),
                called=str(path.with_suffix("")),
            )
        )


def _shape(given: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in given.items() if name != "seed"}


def _rtol(reference: str) -> float:
    """Return the largest relative tolerance that the reference names as a number; 0 without any."""
    try:
        calls = [node for node in ast.walk(ast.parse(reference)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        return 0.0
    values = (word.value for call in calls for word in call.keywords if word.arg == "rtol")
    numbers = (each.value for each in values if isinstance(each, ast.Constant))
    return max((float(each) for each in numbers if isinstance(each, int | float)), default=0.0)

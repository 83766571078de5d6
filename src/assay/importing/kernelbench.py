"""KernelBench: a problem defines ``Model``, ``get_inputs`` and ``get_init_inputs``, a solution
``ModelNew``; and any Python file with a function and the function that it is held against.

The format is that of the files in KernelBench's repository (ScalingIntelligence/KernelBench).
"""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.importing.imported import Imported, Pair, below, dtype_in, identifier, read_source

ADAPTER = "pair.py"
GENERATED = re.compile(r"level_(\d+)_problem_(\d+)_sample_\d+")
"""Names of generated kernels in a folder of runs."""


def import_kernelbench(paths: Sequence[Path], speedups: Mapping[str, float]) -> Imported:
    """Return every solution with its problem: the one in its file, the only one in its folder, or
    the one that its name begins with. Raises BadInput for a path that is not there.
    """
    imported = Imported("Solutions to KernelBench problems", ADAPTER)
    sources = {path: read_source(path) for path in below(paths, ".py")}
    names = {path: _defined(data) for path, data in sources.items()}
    problems = [path for path in sources if "Model" in names[path]]
    for path in sources:
        if "ModelNew" not in names[path]:
            continue
        problem = _problem_of(path, problems)
        if problem is None:
            imported.left_out.append(f"{path}: no problem was found that it solves")
        elif not {"get_inputs", "get_init_inputs"} <= names[problem]:
            imported.left_out.append(f"{problem}: defines no get_inputs and get_init_inputs")
        else:
            _add(imported, problem, "Model", path, "ModelNew", sources, speedups)
    return imported


def import_functions(given: Sequence[str], speedups: Mapping[str, float]) -> Imported:
    """Return one pair, of ``FILE.py:FUNCTION`` and the baseline ``FILE.py:FUNCTION``, whose file
    defines ``get_inputs``. Raises BadInput.
    """
    imported = Imported("A function and its baseline", ADAPTER)
    places = [(Path(file), name) for file, _, name in (each.rpartition(":") for each in given)]
    if len(places) != 2 or not all(name.isidentifier() for _, name in places):
        raise BadInput("give the function and its baseline, each as FILE.py:FUNCTION")
    sources = {path: read_source(path) for path, _ in places}
    for path, name in places:
        if name not in _defined(sources[path]):
            raise BadInput(f"{path}: defines no '{name}'")
    (solution, function), (problem, baseline) = places
    if "get_inputs" not in _defined(sources[problem]):
        raise BadInput(f"{problem}: defines no get_inputs(), which makes the tensors")
    _add(imported, problem, baseline, solution, function, sources, speedups)
    return imported


def _add(
    imported: Imported,
    problem: Path,
    reference: str,
    path: Path,
    solution: str,
    sources: Mapping[Path, bytes],
    speedups: Mapping[str, float],
) -> None:
    ours, theirs = (f"solutions/{_unlike(path)}", f"problems/{_unlike(problem)}")
    if path == problem:
        ours = theirs
    imported.contents[theirs], imported.contents[ours] = sources[problem], sources[path]
    dtype = dtype_in(sources[problem].decode(errors="replace"))
    words = problem.stem.strip("_").replace("_", " ")
    imported.pairs.append(
        Pair(
            id=identifier(path.stem if path.stem != problem.stem else problem.stem),
            title=words,
            solution=f"{solution} of {path.name}",
            parameters={"reference": f"{theirs}:{reference}", "solution": f"{ours}:{solution}"},
            file=ours,
            dtype=dtype,
            speedup=speedups.get(path.stem, speedups.get("")),
        )
    )


def _unlike(path: Path) -> str:
    """Return a file's name with its folder's, so that files of one name in two folders differ."""
    return f"{identifier(path.parent.name or 'files')}/{identifier(path.stem)}.py"


def _defined(data: bytes) -> set[str]:
    """Return the names that a file defines at its top. What does not parse is a solution that fails
    if it speaks of one.
    """
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError):
        return {"ModelNew"} if b"ModelNew" in data else set()
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in body if isinstance(node, named)}


def _problem_of(solution: Path, problems: Sequence[Path]) -> Path | None:
    if solution in problems:
        return solution
    if match := GENERATED.search(solution.stem):
        level, number = match.groups()
        listed = [path for path in problems if path.stem.startswith(f"{number}_")]
        own = [path for path in listed if f"level{level}" in path.parts]
        return next(iter(own or listed), None)
    begun = [path for path in problems if solution.stem.startswith(path.stem.rstrip("_"))]
    if begun:
        return max(begun, key=lambda path: len(path.stem))
    beside = [path for path in problems if path.parent == solution.parent]
    return beside[0] if len(beside) == 1 else problems[0] if len(problems) == 1 else None

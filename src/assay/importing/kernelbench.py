"""KernelBench: a problem defines ``Model``, ``get_inputs`` and ``get_init_inputs``, a solution
``ModelNew``; and any Python file with a function and the function that it is held against.

The format is that of the files in KernelBench's repository (ScalingIntelligence/KernelBench).
"""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.importing.imported import Imported, Pair, below, dtype_in, read_source, short_names

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
    called = short_names(sources)
    for path in sources:
        if "ModelNew" not in names[path]:
            continue
        problem = _problem_of(path, problems)
        if problem is None:
            imported.left_out.append(f"{path}: no problem was found that it solves")
        elif not {"get_inputs", "get_init_inputs"} <= names[problem]:
            imported.left_out.append(f"{problem}: defines no get_inputs and get_init_inputs")
        else:
            given = (problem, "Model", path, "ModelNew")
            _add(imported, given, sources, called, speedups)
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
    pair = (problem, baseline, solution, function)
    _add(imported, pair, sources, short_names(sources), speedups)
    return imported


def _add(
    imported: Imported,
    given: tuple[Path, str, Path, str],
    sources: Mapping[Path, bytes],
    called: Mapping[Path, str],
    speedups: Mapping[str, float],
) -> None:
    problem, reference, path, solution = given
    ours, theirs = f"solutions/{called[path]}.py", f"problems/{called[problem]}.py"
    if path == problem:
        ours = theirs
    imported.contents[theirs], imported.contents[ours] = sources[problem], sources[path]
    dtype = dtype_in(sources[problem].decode(errors="replace"))
    words = problem.stem.strip("_").replace("_", " ")
    imported.pairs.append(
        Pair(
            id=called[path],
            title=words,
            solution=f"{solution} of {path.name}",
            parameters={"reference": f"{theirs}:{reference}", "solution": f"{ours}:{solution}"},
            file=ours,
            dtype=dtype,
            speedup=speedups.get(path.stem, speedups.get("")),
        )
    )


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
    plain = re.sub(r"_new\b|new_|_new_", "_", solution.stem).replace("__", "_")
    begun = [path for path in problems if plain.startswith(path.stem.rstrip("_"))]
    if begun:
        return max(begun, key=lambda path: len(path.stem))
    beside = [path for path in problems if path.parent == solution.parent]
    return beside[0] if len(beside) == 1 else problems[0] if len(problems) == 1 else None

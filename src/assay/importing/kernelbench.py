"""KernelBench: a problem defines ``Model``, ``get_inputs`` and ``get_init_inputs``, a solution
``ModelNew``; and any Python file with a function and the function that it is held against.

The format is that of the files in KernelBench's repository (ScalingIntelligence/KernelBench).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.importing.imported import (
    Imported,
    Pair,
    below,
    defined_names,
    dtype_in,
    helpers_of,
    read_source,
    short_names,
)

ADAPTER = "pair.py"
PROBLEM = {"Model", "get_inputs", "get_init_inputs"}
LEVEL = re.compile(r"level\d+")
GENERATED = re.compile(r"level_(\d+)_problem_(\d+)_sample_\d+")
"""Names of generated kernels in a folder of runs."""


def import_kernelbench(paths: Sequence[Path]) -> Imported:
    """Return every solution with its problem: the one in its file, the only one in its folder, or
    the one that its name begins with. Raises BadInput for a path that is not there.
    """
    imported = Imported("Solutions to KernelBench problems", ADAPTER)
    sources: dict[Path, bytes] = {}
    for path in below(paths, ".py"):
        with imported.leaving_out(path):
            sources[path] = read_source(path)
    names = {path: defined_names(data, "ModelNew") for path, data in sources.items()}
    problems = [path for path in sources if names[path] >= PROBLEM]
    called = short_names(sources)
    for path in sources:
        if "ModelNew" not in names[path]:
            continue
        problem = _problem_of(path, problems)
        if problem is None:
            imported.left_out.append(f"{path}: no problem was found that it solves")
        else:
            with imported.leaving_out(path):
                _add(imported, (problem, "Model", path, "ModelNew"), sources, called)
    return imported


def import_functions(given: Sequence[str]) -> Imported:
    """Return one pair, of ``FILE.py:FUNCTION`` and the baseline ``FILE.py:FUNCTION``, whose file
    defines ``get_inputs``. Raises BadInput.
    """
    imported = Imported("A function and its baseline", ADAPTER)
    places = [(Path(file), name) for file, _, name in (each.rpartition(":") for each in given)]
    if len(places) != 2 or not all(name.isidentifier() for _, name in places):
        raise BadInput("give the function and its baseline, each as FILE.py:FUNCTION")
    sources = {path: read_source(path) for path, _ in places}
    for path, name in places:
        if name not in defined_names(sources[path], name):
            raise BadInput(f"{path}: defines no '{name}'")
    (solution, function), (problem, baseline) = places
    if "get_inputs" not in defined_names(sources[problem], ""):
        raise BadInput(f"{problem}: defines no get_inputs(), which makes the tensors")
    pair = (problem, baseline, solution, function)
    _add(imported, pair, sources, short_names(sources))
    return imported


def _add(
    imported: Imported,
    given: tuple[Path, str, Path, str],
    sources: Mapping[Path, bytes],
    called: Mapping[Path, str],
) -> None:
    problem, reference, path, solution = given
    theirs, folder = f"problems/{called[problem]}.py", f"solutions/{called[path]}"
    helpers = {
        f"{folder}/{name}": data
        for each in (problem, path)
        for name, data in helpers_of(each, sources[each]).items()
    }
    own = theirs if path == problem else f"{folder}.py"
    # What a solution compiles it looks for beside itself.
    ours = f"{folder}/{called[path]}.py" if helpers else own
    imported.add(theirs, sources[problem])
    for name, data in {ours: sources[path], **helpers}.items():
        imported.add(name, data)
    dtype = dtype_in(sources[problem])
    words = problem.stem.strip("_").replace("_", " ")
    imported.pairs.append(
        Pair(
            id=called[path],
            title=words,
            solution=f"{solution} of {path.name}",
            parameters={"reference": f"{theirs}:{reference}", "solution": f"{ours}:{solution}"},
            file=ours,
            dtype=dtype,
            called=path.name.removesuffix(".py"),
        )
    )


def _problem_of(solution: Path, problems: Sequence[Path]) -> Path | None:
    others = [path for path in problems if path != solution]
    if match := GENERATED.search(solution.stem):
        level, number = match.groups()
        leveled = any(LEVEL.fullmatch(part) for path in problems for part in path.parts)
        listed = [path for path in others if re.match(rf"0*{number}_", path.stem)]
        own = [path for path in listed if f"level{level}" in path.parts]
        return next(iter(own if leveled else listed), None)
    plain = re.sub(r"_new\b|new_|_new_", "_", solution.stem).replace("__", "_")
    begun = [path for path in others if _begins(plain, path.stem.rstrip("_"))]
    if begun:
        return max(begun, key=lambda path: len(path.stem))
    if solution in problems:
        return solution
    beside = [path for path in others if path.parent == solution.parent]
    return beside[0] if len(beside) == 1 else others[0] if len(others) == 1 else None


def _begins(name: str, with_name: str) -> bool:
    following = name.removeprefix(with_name)[:1]
    return name == with_name or (name.startswith(with_name) and not following.isalnum())

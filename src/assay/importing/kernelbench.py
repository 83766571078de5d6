"""KernelBench: a problem defines ``Model``, ``get_inputs`` and ``get_init_inputs``, a solution
``ModelNew``; and any Python file with a function and the function that it is held against.

The format is that of the files in KernelBench's repository (ScalingIntelligence/KernelBench).
"""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import takewhile
from pathlib import Path

from assay.base.errors import BadInput
from assay.importing.imported import (
    TF32,
    TOLERANCES,
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
LEVEL = re.compile(r"(?:.*[^a-z])?level[_-]?(\d+)")
GENERATED = re.compile(r"level_?(\d+)[_/](?:problem|task)_?(\d+)(?:_|$)")
"""Names of generated kernels in a folder of runs, or of their level."""
MEANT = re.compile(rb"^class Model\b", re.MULTILINE)
"""What stands in a file that is meant as a problem, even where it is broken."""
LAZY = re.compile(rb"^[ \t]+(from|import)\b", re.MULTILINE)
"""An import that may come when a solution has brought another file of that name."""


def import_kernelbench(paths: Sequence[Path]) -> Imported:
    """Return every solution with its problem: the one in its file, the only one in its folder, or
    the one that its name begins with, in its own folder or the nearest. Raises BadInput for a path
    that is not there.
    """
    imported = Imported("Solutions to KernelBench problems", ADAPTER)
    sources: dict[Path, bytes] = {}
    for path in below(paths, ".py"):
        with imported.leaving_out(path):
            sources[path] = read_source(path)
    names = {path: defined_names(data, "ModelNew") for path, data in sources.items()}
    problems = [path for path in sources if names[path] >= PROBLEM]
    solved = {path: "ModelNew" for path in sources if "ModelNew" in names[path]}
    if not solved:  # where no class is called so, solutions may call theirs Model, too
        plain = {path for path in sources if path.stem == "solution" or _generated(path)}
        plain = {path for path in plain if "Model" in names[path]}
        if others := [path for path in problems if path not in plain]:
            problems, solved = others, dict.fromkeys(plain, "Model")
    left = sources.keys() - solved.keys() - {*problems}
    broken = sorted(path for path in left if MEANT.search(sources[path]))
    called = short_names(sources)
    for path in sources:
        if path in solved:
            with imported.leaving_out(path):
                problem = _problem_of(path, problems, broken, solved.keys(), sources)
                if problem in broken:
                    lacks = ", ".join(sorted(PROBLEM - names[problem]))
                    why = f"has no {lacks}" if names[problem] else "is no Python that can be read"
                    raise BadInput(f"{path}: its problem {problem} {why}")
                _add(imported, (problem, "Model", path, solved[path]), sources, called)
    if problems and not imported.pairs and not imported.left_out:
        imported.left_out.append(f"{problems[0]}: no file defines ModelNew, which solves it")
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
    helpers = {each: helpers_of(each, sources[each]) for each in (problem, path)}
    apart = {name for name, _ in helpers[problem].items() ^ helpers[path].items()}
    shared = apart & helpers[problem].keys() & helpers[path].keys()
    if shared and any(map(LAZY.search, (sources[problem], *helpers[problem].values()))):
        raise BadInput(f"{path}: another {min(shared)} is imported by its problem's functions")
    files = {}
    for each, place in ((path, "solutions"), (problem, "problems")):
        # What a file imports or compiles it looks for beside itself.
        folder = f"{place}/{called[each]}" if helpers[each] else place
        files[each] = f"{folder}/{called[each]}.py"
        for name, data in {f"{called[each]}.py": sources[each], **helpers[each]}.items():
            imported.add(f"{folder}/{name}", data)
    theirs, ours = files[problem], files[path]
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
            relative_tolerance=TOLERANCES["float16" if TF32.search(sources[problem]) else dtype],
            called=str(path.with_suffix("")),
        )
    )


def _problem_of(
    solution: Path,
    problems: Sequence[Path],
    broken: Sequence[Path],
    solved: Set[Path],
    sources: Mapping[Path, bytes],
) -> Path:
    """Return the nearest problem that fits a solution's name; one with its own solution comes last.
    Raises BadInput where there is none, or where others are as near.
    """
    others = [path for path in problems if path != solution]
    every = [*others, *broken]
    ours = {_plain(solution.stem), _plain(re.sub(r"(^|_)new(?=_|$)", "", solution.stem))}
    begun = [path for path in every if any(_begins(each, _plain(path.stem)) for each in ours)]
    if match := _generated(solution):
        level, number = map(int, match.groups())
        numbered = re.compile(rf"(?:problem_)?0*{number}(?:_|$)")
        levels = {path: _level_of(path) for path in every}
        runs = map(_generated, sources)
        if not any(levels.values()) and len({int(each[1]) for each in runs if each}) > 1:
            raise BadInput(f"{solution}: no folder says of which level a problem is, level1 say")
        found = [path for path in every if numbered.match(path.stem)]
        found = [path for path in found if not any(levels.values()) or levels[path] == level]
    elif begun:
        found = begun
    elif solution in problems:
        return solution
    else:
        beside = [path for path in others if path.parent == solution.parent]
        only = beside if len(beside) == 1 else others if len(others) == 1 else []
        found = [path for path in only if not _numbered_apart(path.stem, solution.stem)]
    if not found:
        raise BadInput(f"{solution}: no problem was found that it solves")
    found = [path for path in found if path not in solved] or found
    ranks = {path: _nearness(path, solution, named=match is None) for path in found}
    best = [path for path in found if ranks[path] == max(ranks.values())]
    if len({sources[path] for path in best}) > 1:
        raise BadInput(f"{solution}: {best[0]} and {best[1]} fit it alike: put it beside its own")
    return best[0]


def _generated(path: Path) -> re.Match[str] | None:
    return GENERATED.search("/".join(path.with_suffix("").parts[-2:]))


def _level_of(path: Path) -> int | None:
    """Return the level that the nearest folder above a problem names."""
    found = (LEVEL.fullmatch(part.lower()) for part in path.parent.parts[::-1])
    return next((int(each[1]) for each in found if each), None)


def _nearness(problem: Path, solution: Path, *, named: bool) -> tuple[int, ...]:
    """Return how near a problem is: same folder, longer name, same folders above, common way."""
    ours, theirs = solution.parent.parts, problem.parent.parts
    ways = (zip(ours[::-1], theirs[::-1], strict=False), zip(ours, theirs, strict=False))
    alike = (len([*takewhile(lambda parts: len({*parts}) == 1, way)]) for way in ways)
    return (int(ours == theirs), len(problem.stem) if named else 0, *alike)


def _numbered_apart(*names: str) -> bool:
    numbers = [int(found[0]) for name in names if (found := re.match(r"\d+", name))]
    return len({*numbers}) > 1


def _plain(name: str) -> str:
    return re.sub(r"_+", "_", name).strip("_")


def _begins(name: str, with_name: str) -> bool:
    following = name.removeprefix(with_name)[:1]
    return name == with_name or (name.startswith(with_name) and not following.isalnum())

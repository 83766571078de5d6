"""The formats that a project is made from, and the speed-ups that are claimed for solutions."""

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path, PurePath

from assay.base.errors import BadInput
from assay.importing.flashinfer_bench import import_flashinfer_bench
from assay.importing.gpu_mode import import_gpu_mode
from assay.importing.imported import Imported, read_source
from assay.importing.kernelbench import import_functions, import_kernelbench


class BenchmarkFormat(StrEnum):
    """A benchmark's way to write problems and solutions."""

    KERNELBENCH = "kernelbench"
    GPU_MODE = "gpu-mode"
    FLASHINFER_BENCH = "flashinfer-bench"
    TORCH = "torch"
    """A Python file with a function and its baseline."""


_IMPORTERS: dict[BenchmarkFormat, Callable[[Sequence[Path]], Imported]] = {
    BenchmarkFormat.KERNELBENCH: import_kernelbench,
    BenchmarkFormat.GPU_MODE: import_gpu_mode,
    BenchmarkFormat.FLASHINFER_BENCH: import_flashinfer_bench,
    BenchmarkFormat.TORCH: lambda paths: import_functions([*map(str, paths)]),
}


def imported_from(format_: BenchmarkFormat, paths: Sequence[Path], claimed: str | None) -> Imported:
    """Return what the files of a format come to; ``claimed``: one number, for the one solution, or
    the name of a CSV file with columns solution and speedup, whose rows name a solution by the last
    parts of its path that tell it apart.

    Raises BadInput for files that are not there or not of the format.
    """
    if not paths:
        raise BadInput(f"--from {format_.value}: name the files or folders to read")
    one = _positive(claimed or "")
    rows = _rows(claimed) if claimed is not None and one is None else []
    found = _IMPORTERS[format_](paths)
    solutions = sorted({pair.called for pair in found.pairs})
    if one is not None and len(solutions) > 1:
        raise BadInput(
            f"--claimed {claimed}: is of one solution, and there are {len(solutions)}: give a CSV"
        )
    speedups: dict[str, float] = {}
    for place, name, speedup in rows:
        own = [each for each in solutions if _ends(each, name)]
        lost = [why for each, why in found.lost.items() if _ends(each, name)]
        if not own and lost:
            found.left_out.append(f"{place} has no claim: {lost[0]}")
            continue
        if not own:
            raise BadInput(f"{place} is none of the solutions that were found")
        if len(own) > 1:
            raise BadInput(f"{place} fits {own[0]} and {own[1]}: write more of it")
        if own[0] in speedups:
            raise BadInput(f"{place} is given twice")
        speedups[own[0]] = speedup
    pairs = [replace(each, speedup=speedups.get(each.called, one)) for each in found.pairs]
    return replace(found, pairs=pairs)


def _rows(claimed: str) -> list[tuple[str, str, float]]:
    """Return the rows of a CSV: place, solution without ending, speed-up. Raises BadInput."""
    if re.fullmatch(r"[-+0-9.eE]+x?", claimed):
        raise BadInput(f"--claimed {claimed}: is no speed-up")
    text = read_source(Path(claimed)).decode("utf-8-sig", "replace")
    rows = csv.DictReader(io.StringIO(text))
    try:
        lines = [(rows.line_num, row) for row in rows]
    except csv.Error as error:
        raise BadInput(f"{claimed}: is no CSV: {error}") from error
    if not {"solution", "speedup"} <= set(rows.fieldnames or ()):
        raise BadInput(f"{claimed}: has no columns 'solution' and 'speedup'")
    found: list[tuple[str, str, float]] = []
    for number, row in lines:
        line, name = f"{claimed}: line {number}", (row["solution"] or "").strip()
        speedup = _positive(row["speedup"] or "")
        if speedup is None:
            raise BadInput(f"{line}: '{row['speedup'] or ''}' is no number above 0")
        found.append((f"{line}: '{name}'", name.removesuffix(".py"), speedup))
    return found


def _ends(called: str, name: str) -> bool:
    parts = PurePath(name).parts
    return PurePath(called).parts[-len(parts) :] == parts


def _positive(text: str) -> float | None:
    try:
        value = float(text.strip().removesuffix("x"))
    except ValueError:
        return None
    return value if 0 < value < math.inf else None

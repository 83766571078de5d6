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
    """Return what the files of a format come to; ``claimed`` as ``claimed_speedups`` takes it.

    Raises BadInput for files that are not there or not of the format.
    """
    if not paths:
        raise BadInput(f"--from {format_.value}: name the files or folders to read")
    speedups = claimed_speedups(claimed)
    found = _IMPORTERS[format_](paths)
    one = speedups.get("")
    if one is not None and len(found.pairs) > 1:
        raise BadInput(
            f"--claimed {claimed}: is of one solution, and there are several: give a CSV"
        )
    if lost := sorted(speedups.keys() - {"", *(pair.called for pair in found.pairs)}):
        raise BadInput(f"{claimed}: '{lost[0]}' is none of the solutions that were found")
    pairs = [replace(each, speedup=speedups.get(each.called, one)) for each in found.pairs]
    return replace(found, pairs=pairs)


def claimed_speedups(claimed: str | None) -> dict[str, float]:
    """Return the speed-up claimed for each solution, by its name without ending; under "" where
    ``claimed`` is one number, and no CSV file with columns solution and speedup. Raises BadInput.
    """
    if claimed is None:
        return {}
    if (number := _positive(claimed)) is not None:
        return {"": number}
    if re.fullmatch(r"[-+0-9.eE]+x?", claimed):
        raise BadInput(f"--claimed {claimed}: is no speed-up")
    text = read_source(Path(claimed)).decode("utf-8-sig", "replace")
    rows = csv.DictReader(io.StringIO(text))
    if not {"solution", "speedup"} <= set(rows.fieldnames or ()):
        raise BadInput(f"{claimed}: has no columns 'solution' and 'speedup'")
    found: dict[str, float] = {}
    for line, row in enumerate(rows, start=2):
        speedup = _positive(row["speedup"] or "")
        if speedup is None:
            raise BadInput(f"{claimed}: line {line}: '{row['speedup']}' is no speed-up")
        found[PurePath(row["solution"] or "").name.removesuffix(".py")] = speedup
    return found


def _positive(text: str) -> float | None:
    try:
        value = float(text.strip().removesuffix("x"))
    except ValueError:
        return None
    return value if 0 < value < math.inf else None

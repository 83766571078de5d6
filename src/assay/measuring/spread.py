"""A batch of one stage, spread over the GPUs of a machine.

Each GPU measures its part as it would measure all: one job at a time, in one start of the device
side. Every record has a file of its own, so that what was finished is there however a GPU ends;
what a lost GPU leaves goes to the others, and nothing is measured twice.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.progress import say
from assay.measuring.gpu_workers import WorkEnd, work_at_once
from assay.measuring.resume import Measure, Results, kept_record
from assay.records.base import Record
from assay.shared.counting import counted
from assay.shared.job import DeviceJob

R = TypeVar("R", bound=Record)

Assign = Callable[[Sequence[DeviceJob], Sequence[str]], Mapping[str, Sequence[DeviceJob]]]
"""Jobs, and the GPUs that are left, to those that each GPU does, in its order."""
GONE = "the GPU that its comparison was checked on takes no part any more"
MOST_LOST = 2
"""GPUs that may be lost on one job: it is what they were lost on."""


class GpuLost(MissingEnvironment):
    """A GPU is not to be had, or not any more, and what it was to measure waits for another."""


def spread_over(
    gpus: Sequence[str],
    measure_at: Callable[[str], Measure[R]],
    record: type[R],
    assign: Assign,
    lose: Callable[[str], object],
) -> Measure[R]:
    """Return what measures a batch on several GPUs at once; on one, as ``measure_at`` it does.

    A GPU that is not to be had is left out from then on, and ``lose`` is told. Raises GpuLost where
    that leaves jobs which ``assign`` gives to none of the others, or where there is no other. What
    it gives to none from the beginning fails.
    """

    def measure(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[R]:
        if len(gpus) == 1 and len(assign(jobs, gpus).get(gpus[0], ())) == len(jobs):
            return measure_at(gpus[0])(jobs, into)
        paths = {id(job): path for job, path in zip(jobs, into, strict=True)}
        results: dict[int, R | CheckFailed] = {}
        lost_on: Counter[int] = Counter()
        usable, why = list(gpus), ""
        while left := [job for job in jobs if id(job) not in results]:
            parts = {gpu: part for gpu, part in assign(left, usable).items() if part}
            if why and not parts:
                raise GpuLost(why)
            if not parts:
                results |= {id(job): CheckFailed(GONE) for job in left}
            works = {
                gpu: partial(measure_at(gpu), part, [paths[id(job)] for job in part])
                for gpu, part in parts.items()
            }
            for gpu, end in (work_at_once(works) if works else {}).items():
                found = _results(parts[gpu], paths, end, record)
                results |= found
                if end.lost is None:
                    continue
                # The first that it left is what it was lost on, if on any.
                first = next((id(job) for job in parts[gpu] if id(job) not in found), None)
                lost_on[first or 0] += 1
                if first is not None and lost_on[first] >= MOST_LOST:
                    words = f"{counted(MOST_LOST, 'GPU')} were lost on it: {end.lost}"
                    results[first] = CheckFailed(words)
                usable.remove(gpu)
                lose(gpu)
                why = end.lost
                say(f"{gpu} is left out from here on: {end.lost}")
            if not usable and len(results) < len(jobs):
                raise GpuLost(why)
        return [results[id(job)] for job in jobs]

    return measure


def _results(
    jobs: Sequence[DeviceJob],
    paths: Mapping[int, Path],
    end: WorkEnd[Results[R]],
    record: type[R],
) -> dict[int, R | CheckFailed]:
    """Return what came of a GPU's jobs; a lost GPU has left what it finished, and no more."""
    if end.result is not None:
        return {id(job): found for job, found in zip(jobs, end.result, strict=True)}
    results: dict[int, R | CheckFailed] = {}
    for job in jobs:
        if (kept := kept_record(paths[id(job)], record)) is not None:
            results[id(job)] = kept
        elif end.lost is None:
            results[id(job)] = CheckFailed(end.defect or "it wrote no record")
    return results

"""A batch of one stage, spread over the GPUs of a machine.

Each GPU measures its part as it would measure all: one job at a time, in one start of the device
side. Every record has a file of its own, so that what was finished is there however a GPU ends;
what a lost GPU leaves goes to the others, and nothing is measured twice.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.base.progress import say
from assay.measuring.gpu_workers import WorkEnd, work_at_once
from assay.measuring.resume import Measure, Results
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
        batch = _Batch(jobs, into, record)
        usable = list(gpus)
        why = ""
        while left := batch.left():
            parts = {gpu: part for gpu, part in assign(left, usable).items() if part}
            if not parts and why:
                raise GpuLost(why)
            if not parts:
                batch.take(left, WorkEnd(defect=GONE))
                continue
            ends = work_at_once(
                {gpu: batch.work(measure_at(gpu), part) for gpu, part in parts.items()}
            )
            for gpu, end in ends.items():
                batch.take(parts[gpu], end)
                if end.lost is not None:
                    usable.remove(gpu)
                    lose(gpu)
                    why = end.lost
                    say(f"{gpu} is left out from here on: {end.lost}")
            if not usable and batch.left():
                raise GpuLost(why)
        return batch.results()

    return measure


class _Batch(Generic[R]):
    """The jobs of a batch, and what became of each."""

    def __init__(self, jobs: Sequence[DeviceJob], into: Sequence[Path], record: type[R]) -> None:
        self._jobs, self._record = jobs, record
        self._paths = {id(job): path for job, path in zip(jobs, into, strict=True)}
        self._results: dict[int, R | CheckFailed] = {}
        self._lost_on: Counter[int] = Counter()

    def left(self) -> list[DeviceJob]:
        """Return the jobs that nothing came of yet."""
        return [job for job in self._jobs if id(job) not in self._results]

    def results(self) -> list[R | CheckFailed]:
        """Return what came of each job, in their order."""
        return [self._results[id(job)] for job in self._jobs]

    def work(
        self, measure: Measure[R], part: Sequence[DeviceJob]
    ) -> Callable[[], tuple[str | None, ...]]:
        """Return what measures some of the jobs into their files."""
        return partial(measured_into, measure, part, [self._paths[id(job)] for job in part])

    def take(self, part: Sequence[DeviceJob], end: WorkEnd) -> None:
        """Take up what one GPU made of its part."""
        said = end.failures or (None,) * len(part)
        open_jobs = []
        for job, failure in zip(part, said, strict=True):
            found = CheckFailed(failure) if failure is not None else self._kept(job)
            if found is not None:
                self._results[id(job)] = found
            else:
                open_jobs.append(job)
        if end.lost is None:
            words = end.defect or "it wrote no record"
            self._results |= {id(job): CheckFailed(words) for job in open_jobs}
        elif open_jobs:
            # The first of them is what the GPU was lost on, if on any.
            first = open_jobs[0]
            self._lost_on[id(first)] += 1
            if self._lost_on[id(first)] >= MOST_LOST:
                lost = counted(MOST_LOST, "GPU")
                self._results[id(first)] = CheckFailed(f"{lost} were lost on it: {end.lost}")

    def _kept(self, job: DeviceJob) -> R | CheckFailed | None:
        path = self._paths[id(job)]
        if not path.is_file():
            return None
        try:
            return read_record(self._record, path)
        except BadInput as error:
            return CheckFailed(str(error))


def measured_into(
    measure: Measure[R], jobs: Sequence[DeviceJob], into: Sequence[Path]
) -> tuple[str | None, ...]:
    """Measure jobs into their files; of each the sentence that it failed with, or None."""
    failures: list[str | None] = []
    for result, path in zip(measure(jobs, into), into, strict=True):
        if isinstance(result, CheckFailed):
            failures.append(str(result))
        else:
            if not path.is_file():
                write_record(result, path)
            failures.append(None)
    return tuple(failures)

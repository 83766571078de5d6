"""A batch of one stage on several GPUs of a machine at once, in a process a GPU.

A process, not a thread: deadlines and signals reach the main thread of a process, and a job's own
processes end with the thread that started them.
"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import TypeVar

from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.base.progress import say
from assay.base.signals import ENDING, SignalledExit
from assay.measuring.device_process import NoMemory
from assay.measuring.resume import Measure, Results, kept_record
from assay.records.base import Record
from assay.shared.job import DeviceJob
from assay.shared.processes import tied_to_parent

T = TypeVar("T")
R = TypeVar("R", bound=Record)

Assign = Callable[[Sequence[DeviceJob], Sequence[str]], Mapping[str, Sequence[DeviceJob]]]
"""Jobs, and the GPUs that are left, to those that each GPU does, in its order."""
GONE = "the GPU that its comparison was checked on takes no part any more"
PATIENCE_S = 60.0
"""For a worker that is asked to end: it removes its container."""


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

    ``lose`` is told of a GPU that is not to be had. Then it raises GpuLost, once the others are
    done: what was finished is in its files. What ``assign`` gives to no GPU fails.
    """

    def measure(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[R]:
        parts = {gpu: part for gpu, part in assign(jobs, gpus).items() if part}
        if len(gpus) == 1 and len(parts.get(gpus[0], ())) == len(jobs):
            return measure_at(gpus[0])(jobs, into)
        paths = {id(job): path for job, path in zip(jobs, into, strict=True)}
        works = {
            gpu: partial(measure_at(gpu), part, [paths[id(job)] for job in part])
            for gpu, part in parts.items()
        }
        results: dict[int, R | CheckFailed] = {}
        lost: MissingEnvironment | None = None
        for gpu, end in work_at_once(works).items():
            if isinstance(end, MissingEnvironment):
                say(f"{gpu} is left out from here on: {end}")
                lose(gpu)
                lost = end
            elif isinstance(end, CheckFailed):
                done = {id(job): kept_record(paths[id(job)], record) for job in parts[gpu]}
                results |= {number: found or end for number, found in done.items()}
            else:
                results |= {id(job): found for job, found in zip(parts[gpu], end, strict=True)}
        if lost is not None:
            raise GpuLost(str(lost)) from lost
        return [results.get(id(job), CheckFailed(GONE)) for job in jobs]

    return measure


def work_at_once(
    works: Mapping[str, Callable[[], T]],
) -> dict[str, T | CheckFailed | MissingEnvironment]:
    """Do all of ``works`` side by side and wait; by GPU, what came of each, or its error.

    MissingEnvironment: the GPU is not to be had, or not any more. However this ends, no worker is
    left. One alone is done in this process.
    """
    if len(works) == 1:
        return {gpu: _end_of(work) for gpu, work in works.items()}
    context = multiprocessing.get_context("fork")
    running: dict[str, tuple[BaseProcess, Connection]] = {}
    try:
        for gpu, work in works.items():
            ours, theirs = context.Pipe(duplex=False)
            worker = context.Process(target=_worker, args=(work, theirs, tied_to_parent()))
            worker.start()
            theirs.close()
            running[gpu] = worker, ours
        return {gpu: _answer(*each) for gpu, each in running.items()}
    finally:
        _stop([worker for worker, _ in running.values()])


def _answer(worker: BaseProcess, answer: Connection) -> T | CheckFailed | MissingEnvironment:
    try:
        found: T | CheckFailed | MissingEnvironment = answer.recv()
        return found
    except EOFError:
        worker.join()
        return CheckFailed(f"the process of a GPU ended with code {worker.exitcode}")


def _worker(work: Callable[[], T], answer: Connection, tie: Callable[[], None]) -> None:
    tie()
    for number in ENDING:
        signal.signal(number, _leave_once)
    answer.send(_end_of(work))


def _leave_once(number: int, frame: FrameType | None) -> None:
    """End this worker by the first signal that asks for it: it may come to the whole group, and
    from the process that started it, and the second must not cut short what the first began.
    """
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise SignalledExit(128 + number)


def _end_of(work: Callable[[], T]) -> T | CheckFailed | MissingEnvironment:
    try:
        return work()
    except AssayError as error:
        lost = isinstance(error, MissingEnvironment) and not isinstance(error, NoMemory)
        return MissingEnvironment(str(error)) if lost else CheckFailed(str(error))
    except Exception as error:
        # A defect of ours on one GPU; the trace is for whoever mends.
        traceback.print_exc()
        return CheckFailed(f"{type(error).__name__}: {error}")


def _stop(workers: list[BaseProcess]) -> None:
    """End workers: all are asked before the first is waited for."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(PATIENCE_S)
        if worker.is_alive():
            worker.kill()
            worker.join()

"""Work on several GPUs at once: a process a GPU, each of which measures as one alone would.

A process, not a thread: deadlines and signals reach the main thread of a process, and a job's own
processes end with the thread that started them.
"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Generic, TypeVar

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.signals import ENDING, SignalledExit
from assay.measuring.device_process import NoMemory
from assay.shared.parent_death import tied_to_parent

T = TypeVar("T")
PATIENCE_S = 60.0
"""For a worker that is asked to end: it removes its container."""


@dataclass(frozen=True)
class WorkEnd(Generic[T]):
    """The end of one GPU's work."""

    result: T | None = None
    """None where the work was cut off."""
    lost: str | None = None
    """Why the GPU is not to be had, or not any more."""
    defect: str | None = None
    """What the work died of otherwise."""


def work_at_once(works: Mapping[str, Callable[[], T]]) -> dict[str, WorkEnd[T]]:
    """Do all of ``works`` side by side and wait; by GPU, how each ended.

    A work raises MissingEnvironment for a GPU that is not to be had, CheckFailed for what ended it
    otherwise. However this ends, no worker is left. One alone is done in this process.
    """
    if len(works) == 1:
        return {gpu: _end_of(work) for gpu, work in works.items()}
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[str, BaseProcess]] = {}
    ends: dict[str, WorkEnd[T]] = {}
    try:
        for gpu, work in works.items():
            ours, theirs = context.Pipe(duplex=False)
            tie = tied_to_parent()
            process: BaseProcess = context.Process(target=_worker, args=(work, theirs, tie))
            process.start()
            theirs.close()
            running[ours] = (gpu, process)
        while running:
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                gpu, process = running[ready]
                try:
                    ends[gpu] = ready.recv()
                except EOFError:
                    process.join()
                    why = f"the process of a GPU ended with code {process.exitcode}"
                    ends[gpu] = WorkEnd(defect=why)
                process.join()
                ready.close()
                del running[ready]
    finally:
        _stop([process for _, process in running.values()])
    return {gpu: ends[gpu] for gpu in works}


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


def _end_of(work: Callable[[], T]) -> WorkEnd[T]:
    try:
        return WorkEnd(result=work())
    except (CheckFailed, NoMemory) as error:
        return WorkEnd(defect=str(error))
    except MissingEnvironment as error:
        return WorkEnd(lost=str(error))
    except Exception as error:
        # A defect of ours on one GPU; the trace is for whoever mends.
        traceback.print_exc()
        return WorkEnd(defect=f"{type(error).__name__}: {error}")


def _stop(workers: list[BaseProcess]) -> None:
    """End workers: all are asked before the first is waited for."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(PATIENCE_S)
        if worker.is_alive():
            worker.kill()
            worker.join()

"""Fresh processes cheaply: fork from a parent that has imported PyTorch and never touched CUDA.

Each child initialises a CUDA context of its own, so an illegal address in one leaves the others
unharmed. The child's result comes back through an unlinked temporary file, its last note through
shared memory, which survives even a child that is killed. Children side by side are polled by the
one thread there is: a fork copies no other thread, only the locks that it held. The GPU gives them
slices of time in turn and shows none the memory of another, so neighbours decide when a launch
runs, and not what it computes. What they can take from each other is memory.
"""

import bisect
import contextlib
import json
import mmap
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from assay.device.worker.failure_kinds import kind_of
from assay.shared.confinement import enter_as_child
from assay.shared.errors import FailureKind, KnownFailure, NoContext, NoDevice
from assay.shared.processes import tied_to_parent
from assay.shared.specs import Json

POLL_S = 0.005
"""How often the parent looks after its child: short against any measurement, long for a core."""
NOTE_BYTES = 256

Note = Callable[[str], None]
"""What a child calls to leave word of what it is doing."""
Work = Callable[[Note], Json]


@dataclass(frozen=True)
class ChildOutcome:
    """The end of a child: a value or an error, and its last note."""

    value: Json | None
    error: str | None
    note: str
    seconds: float
    kind: FailureKind | None = None
    """Of the error, where there is one."""


GPU_LOST: dict[FailureKind, type[NoDevice]] = {error.kind: error for error in (NoDevice, NoContext)}
"""Kinds of errors that are no fault of a child's work, and what stands for them here."""


def prepare_environment() -> None:
    """Settings that must stand before PyTorch is imported in the parent."""
    # Ask NVML, not the CUDA runtime, whether there is a GPU: the runtime does not survive a fork.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    # A child ends by _exit; a pool of compiler processes would outlive it.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


class Child:
    """A forked process, and where its result and its last note arrive.

    Whoever starts one polls it until it has an outcome, and stops it whatever happens.
    """

    _held: contextlib.ExitStack

    def __init__(self, work: Work, deadline_s: float, others: Iterable["Child"] = ()) -> None:
        """``others``: children whose results are still to come; this one cannot write them."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._deadline_s = deadline_s
        with contextlib.ExitStack() as stack:
            self._result = stack.enter_context(tempfile.TemporaryFile())
            self._board = stack.enter_context(mmap.mmap(-1, NOTE_BYTES))
            self._began = time.monotonic()
            # An interrupt between the fork and the child's own handling would unwind a copy of this
            # process, which would then end its siblings.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            tie = tied_to_parent()
            try:
                self._pid = os.fork()
                if self._pid == 0:
                    for other in others:
                        other._held.close()
                    _child(work, self._result, self._board, before, tie)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._ended = False
            self._held = stack.pop_all()

    def poll(self) -> ChildOutcome | None:
        """Return, once, what became of the child; None while it works. One too late is stopped."""
        done, status = os.waitpid(self._pid, os.WNOHANG)
        if done:
            self._ended = True
            return self._close(status)
        if time.monotonic() >= self._began + self._deadline_s:
            self.kill()
            self._reap()
            return self._close(None)
        return None

    def kill(self) -> None:
        """Have the child end, without waiting for it."""
        if not self._ended:
            # It may be gone already, where an interrupt fell between its end and our note of that.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the child if it has not ended, and let go of what was held for it."""
        self.kill()
        self._reap()
        self._held.close()

    def _reap(self) -> None:
        if not self._ended:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._ended = True

    def _close(self, status: int | None) -> ChildOutcome:
        """Return the outcome of a child with this wait status, or of one that was stopped."""
        with self._held:
            note = self._board[:].rstrip(b"\0").decode(errors="replace")
            seconds = time.monotonic() - self._began
            if status is None:
                late = f"stopped after {self._deadline_s:.0f} s"
                return ChildOutcome(None, late, note, seconds, FailureKind.TIMED_OUT)
            if os.WIFSIGNALED(status):
                ended_by = signal.Signals(os.WTERMSIG(status))
                killed = ended_by is signal.SIGKILL
                kind = FailureKind.KILLED if killed else FailureKind.CRASHED
                return ChildOutcome(None, f"died of {ended_by.name}", note, seconds, kind)
            self._result.seek(0)
            return _outcome(self._result.read(), note, seconds)


def run_child(work: Work, deadline_s: float) -> ChildOutcome:
    """Run ``work`` in a forked child and wait: errors are in the outcome, but for NoDevice."""
    (outcome,) = each_child([work], deadline_s, 1)
    return outcome


def each_child(
    works: Sequence[Work],
    deadline_s: float,
    width: int,
    again: Callable[[int, ChildOutcome], bool] = lambda _number, _outcome: False,
    on_tick: Callable[[Collection[int]], object] = lambda _running: None,
) -> Iterator[ChildOutcome]:
    """As run_child for each of ``works``, up to ``width`` side by side; yield outcomes in order.
    Meanwhile ``on_tick`` is called with the numbers of those that run.

    ``deadline_s`` counts for each child from its own start. Where a child had others beside it and
    ``again`` says that its outcome is owed to them, it is run once more, and from then on half as
    many side by side, in the end each alone. However this ends, and NoDevice from one child ends
    it, no child is left.
    """
    waiting = list(range(len(works)))
    running: dict[int, Child] = {}
    beside: set[int] = set()
    outcomes: dict[int, ChildOutcome] = {}
    try:
        for wanted in range(len(works)):
            while wanted not in outcomes:
                while waiting and len(running) < width:
                    number = waiting.pop(0)
                    running[number] = Child(works[number], deadline_s, running.values())
                    if len(running) > 1:
                        beside.update(running)
                for number, outcome in _ended(running):
                    if number in beside and again(number, outcome):
                        beside.remove(number)
                        bisect.insort(waiting, number)
                        width = max(1, width // 2)
                    elif outcome.kind in GPU_LOST:
                        raise GPU_LOST[outcome.kind](outcome.error)
                    else:
                        outcomes[number] = outcome
                if running:
                    on_tick(running)
                    time.sleep(POLL_S)
            yield outcomes.pop(wanted)
    finally:
        # All are told to end before the first is waited for: one may take long to let go of a GPU.
        for child in running.values():
            child.kill()
        for child in running.values():
            child.stop()


def _ended(running: dict[int, Child]) -> list[tuple[int, ChildOutcome]]:
    """Take the children that have ended out of ``running``."""
    polled = [(number, child.poll()) for number, child in running.items()]
    ended = [(number, outcome) for number, outcome in polled if outcome is not None]
    for number, _ in ended:
        del running[number]
    return ended


def _outcome(payload: bytes, note: str, seconds: float) -> ChildOutcome:
    if not payload:
        silent = "ended without a result"
        return ChildOutcome(None, silent, note, seconds, FailureKind.CRASHED)
    document: Json = json.loads(payload)
    kind = document["kind"] and FailureKind(document["kind"])
    return ChildOutcome(document["value"], document["error"], note, seconds, kind)


def _child(
    work: Work,
    result: IO[bytes],
    board: Any,
    mask: set[int | signal.Signals],
    tie: Callable[[], None],
) -> NoReturn:
    """Everything the child does; it never returns into the parent's stack."""
    try:
        # Interrupted by itself it ends at once; interrupted with its parent, the parent says why.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # Should the parent be killed, the GPU must not go on working for nobody.
        tie()
        result.write(json.dumps(_result_of(work, board), allow_nan=False).encode())
        result.flush()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _result_of(work: Work, board: Any) -> Json:
    """Return what ``work`` came to, as the parent reads it."""

    def note(text: str) -> None:
        data = text.encode()[:NOTE_BYTES]
        board[:] = data.ljust(NOTE_BYTES, b"\0")

    try:
        enter_as_child()
        return {"kind": None, "value": work(note), "error": None}
    except KnownFailure as error:  # the sentence says it all
        return {"kind": error.kind, "value": None, "error": str(error)}
    except BaseException as error:
        traceback.print_exc()
        # Advice of several lines on how to debug belongs to the trace, which was just printed.
        sentence = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return {"kind": kind_of(error), "value": None, "error": sentence}


SIDE_BY_SIDE = range(3, 9)
"""Children at a time, by the cores there are: one leaves the GPU idle for half of its time, while
it starts, and while the host makes patterns and loops over the oracle. More would take memory."""
MPS_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
MPS_DIRECTORY = "/tmp/nvidia-mps"  # noqa: S108 - where CUDA itself looks
WANT_OF_ROOM = {FailureKind.NO_ROOM, FailureKind.NO_CONTEXT, FailureKind.KILLED}
"""Failures of a process which neighbours may have left too little; the host's guard kills."""


def width() -> int:
    """Return how many processes to let work side by side: half as many as there are cores, within
    SIDE_BY_SIDE; 1 under CUDA's MPS.

    MPS puts all of them behind one server, where the illegal address of one ends the others.
    """
    pipes = Path(os.environ.get(MPS_VARIABLE) or MPS_DIRECTORY)
    if (pipes / "control").exists():
        return 1
    cores = len(os.sched_getaffinity(0))
    return max(SIDE_BY_SIDE[0], min(SIDE_BY_SIDE[-1], cores // 2))

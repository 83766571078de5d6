"""Fresh processes cheaply: fork from a parent that has imported PyTorch and never touched CUDA.

Each child initialises a CUDA context of its own, so an illegal address in one leaves the others
unharmed. The child's result comes back through an unlinked temporary file, its last note through
shared memory, which survives even a child that is killed.
"""

import ctypes
import json
import mmap
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from assay.device.errors import NoDevice
from assay.device.jobs import Json

POLL_S = 0.005
"""How often the parent looks after its child: short against any measurement, long for a core."""
NOTE_BYTES = 256
_PR_SET_PDEATHSIG = 1

Note = Callable[[str], None]
"""What a child calls to leave word of what it is doing."""
Work = Callable[[Note], Json]


def _no_tick() -> object:
    return None


@dataclass(frozen=True)
class Outcome:
    """What became of a child: a value or an error, and its last note."""

    value: Json | None
    error: str | None
    note: str
    seconds: float


def prepare_environment() -> None:
    """Settings that must stand before PyTorch is imported in the parent."""
    # Ask NVML, not the CUDA runtime, whether there is a GPU: the runtime does not survive a fork.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    # A child ends by _exit; a pool of compiler processes would outlive it.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


def run_child(work: Work, deadline_s: float, on_tick: Callable[[], object] = _no_tick) -> Outcome:
    """Run ``work`` in a forked child and wait, calling ``on_tick`` meanwhile.

    A child that raises, dies or outlives ``deadline_s`` gives an Outcome with an error; NoDevice
    is raised again here.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    began = time.monotonic()
    with tempfile.TemporaryFile() as result, mmap.mmap(-1, NOTE_BYTES) as board:
        pid = os.fork()
        if pid == 0:
            _child(work, result, board)
        status: int | None = None
        try:
            status = _wait(pid, began + deadline_s, on_tick)
        finally:
            if status is None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        note = board[:].rstrip(b"\0").decode(errors="replace")
        seconds = time.monotonic() - began
        if status is None:
            return Outcome(None, f"stopped after {deadline_s:.0f} s", note, seconds)
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            return Outcome(None, f"died of {name}", note, seconds)
        result.seek(0)
        return _outcome(result.read(), note, seconds)


def _wait(pid: int, deadline: float, on_tick: Callable[[], object]) -> int | None:
    """The child's wait status, or None at the deadline."""
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        on_tick()
        time.sleep(POLL_S)
    return None


def _outcome(payload: bytes, note: str, seconds: float) -> Outcome:
    if not payload:
        return Outcome(None, "ended without a result", note, seconds)
    document: Json = json.loads(payload)
    if document["kind"] == "no_device":
        raise NoDevice(document["error"])
    return Outcome(document["value"], document["error"], note, seconds)


def _child(work: Work, result: IO[bytes], board: Any) -> None:
    """Everything the child does; it never returns into the parent's stack."""
    document: Json = {"kind": "value", "value": None, "error": None}

    def note(text: str) -> None:
        data = text.encode()[:NOTE_BYTES]
        board[:] = data.ljust(NOTE_BYTES, b"\0")

    try:
        # Should the parent be killed, the GPU must not go on working for nobody.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        document["value"] = work(note)
    except NoDevice as error:
        document.update(kind="no_device", error=str(error))
    except BaseException as error:
        traceback.print_exc()
        document.update(kind="error", error=f"{type(error).__name__}: {error}")
    try:
        result.write(json.dumps(document, allow_nan=False).encode())
        result.flush()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)

"""The workflow as a process: one command at a time has a run, and all that it starts ends with it.

Where the command was killed, nobody asks a step to end; it looks for itself. So a step's own
``finally`` is run, which ends device processes and compilers and removes containers, and a report
is never signed for a command that is gone.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from assay.base.printable import shown_line
from assay.base.progress import exclusive, say
from assay.base.signals import ENDING
from assay.pipeline.failures import read_failures
from assay.pipeline.run_files import RESULTS
from assay.runtimes import owners
from assay.shared.parent_death import tied_to_parent

GRACE_S = 60.0
"""Time that jobs have to remove containers and half-written files when a run is interrupted."""
POLL_S = 0.5
"""How often failures of steps are looked for."""
OWNER_POLL_S = 2.0
"""How often a step looks whether the run is still its command's."""
DRAIN_S = 5.0
"""Patience with whoever holds the workflow's output open when the workflow has ended."""
OURS = "assay: "
"""How every line begins that a step says to the person at the terminal."""
WARNING = re.compile(rf"{OURS}  (\S.*Warning: |  )")
"""A library's warning, or the line of code below it: every process of a measurement warns anew."""


@contextmanager
def only_run(home: Path, name: str) -> Iterator[None]:
    """Hold the run ``name`` of this checkout, or of a project; waits, saying so, while another
    process has it.

    Snakemake's own locks outlive a killed process; this one does not. What a killed command left
    running is waited for, and ended. Raises MissingEnvironment where that cannot be.
    """
    path = lock_path(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path, f"another process is at run '{name}' of {home}; waiting for it"):
        path.write_text(owners.myself())
        owners.end_leftovers(home / RESULTS / name)
        yield


def lock_path(home: Path, run: str) -> Path:
    """Return the lock of a run; it holds the name of the command that has the run."""
    return home / RESULTS / f".{run}.lock"


def leave_with_owner(environ: Mapping[str, str], lock: Path) -> bool:
    """Have this process ended, as by a signal, when the command is gone that it works for.

    False where that is so already. Of a command on another machine nothing is seen but ``lock``,
    the run's: there the step ends when a later command has the run.
    """
    owner = owners.owner_in(environ)
    if not owner:
        return True
    if is_over(owner, lock):
        return False
    threading.Thread(target=_watch, args=(owner, lock), daemon=True).start()
    return True


def is_over(owner: str, lock: Path) -> bool:
    """Return whether a command is gone, or has lost its run to a later one."""
    if owners.is_gone(owner):
        return True
    try:
        return lock.read_text() not in ("", owner)
    except OSError:
        return False


def _watch(owner: str, lock: Path) -> None:
    """Wait for the end of a command; then ask this process to end, and see to it."""
    while not is_over(owner, lock):
        time.sleep(OWNER_POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(128 + signal.SIGTERM)


class WorkflowOutput:
    """Copies what a workflow says into its log, and tells the lines that are meant for people."""

    def __init__(self, stream: IO[str], log: Path, *, verbose: bool) -> None:
        self._stream, self._log, self._verbose = stream, log, verbose
        self._silenced = False
        self._warned: set[str] = set()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def silence(self) -> None:
        """Tell nothing more; the log goes on."""
        self._silenced = True

    def close(self) -> None:
        """Wait until everything that was said is in the log."""
        self._thread.join(DRAIN_S)

    def _copy(self) -> None:
        with self._log.open("w", encoding="utf-8") as log:
            for line in self._stream:
                log.write(line)
                log.flush()
                told = None if self._silenced else self._meant_for_people(line.rstrip("\n"))
                if told is not None:
                    with suppress(OSError):  # nobody listens any more: the log does
                        print(shown_line(told), file=sys.stderr, flush=True)

    def _meant_for_people(self, line: str) -> str | None:
        if self._verbose:
            return line
        if WARNING.match(line):
            key = re.sub(r"\d+", "#", line)
            if key in self._warned:
                return None
            self._warned.add(key)
        return line if line.startswith(OURS) else None


def run_process(
    command: Sequence[str],
    root: Path,
    run_dir: Path,
    *,
    environment: Mapping[str, str] | None = None,
    verbose: bool = False,
    on_cluster: bool = False,
    on_tick: Callable[[], None] = lambda: None,
) -> int:
    """Exit code of the workflow, whose output goes to ``logs/snakemake.log`` of the run.

    Its jobs end with it when this process is interrupted, or when a step finds that this machine
    lacks something. ``on_cluster``: jobs run elsewhere, where the next node may have it, and are
    cancelled by the workflow itself, which takes an interrupt for that. Where this process is
    killed, the kernel tells the workflow the same way, and its jobs look for themselves.
    ``verbose`` tells everything, not only our own lines. ``on_tick`` is called about twice a
    second; what it raises ends the run.
    """
    log = log_path(run_dir)
    log.parent.mkdir(parents=True, exist_ok=True)
    tie = tied_to_parent(signal.SIGINT if on_cluster else signal.SIGKILL)
    # One that comes between the start and our knowing of it would leave the workflow to itself.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)

    def begin() -> None:
        tie()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        process = subprocess.Popen(
            command, cwd=root, env=environment, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            preexec_fn=begin,
        )  # fmt: skip
        assert process.stdout is not None
        output = WorkflowOutput(process.stdout, log, verbose=verbose)
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return _wait(process, run_dir, on_tick, on_cluster=on_cluster)
        finally:
            if process.poll() is None:
                output.silence()
                end_group(process, on_cluster=on_cluster)
            output.close()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def log_path(run_dir: Path) -> Path:
    """Return where Snakemake's own words go."""
    return run_dir / "logs" / "snakemake.log"


def _wait(
    process: "subprocess.Popen[str]",
    run_dir: Path,
    on_tick: Callable[[], None],
    *,
    on_cluster: bool,
) -> int:
    """Wait for the workflow, saying which steps failed; 3, early, where this machine lacks
    something.
    """
    known: set[str] = set()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_S)
        on_tick()
        for failure in read_failures(run_dir):
            if failure.lacks_something and not on_cluster:
                return failure.exit_code
            if failure.step not in known:
                known.add(failure.step)
                say(f"{failure.step} failed; what does not depend on it goes on")


def end_group(process: "subprocess.Popen[str]", *, on_cluster: bool = False) -> None:
    """Ask the workflow and its jobs to end, and see to it that they do.

    Another interrupt on the way ends the patience with them.
    """
    if on_cluster:  # Snakemake cancels the jobs it placed when it is interrupted, and only then
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(GRACE_S)
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(patience)
            return

"""The workflow as a process: one command at a time has a run, and all that it starts ends with it.

Where the command was killed, each step looks for itself. So its own ``finally`` ends compilers and
removes containers, and a report is never signed for a command that is gone.
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
from assay.shared.processes import tied_to_parent

GRACE_S = 60.0
"""Time that jobs have to remove containers and half-written files when a run is interrupted."""
POLL_S = 0.5
"""How often failures of steps are looked for."""
LOOK_S = 20.0
"""How often jobs of a cluster are looked for that were preempted for good."""
OWNER_POLL_S = 2.0
"""How often a step looks whether its command is still there."""
DRAIN_S = 5.0
"""Patience with whoever holds the workflow's output open when the workflow has ended."""
OURS = "assay: "
"""How every line begins that a step says to the person at the terminal."""
WARNING = re.compile(rf"{OURS}  (\S.*Warning: |  )")
"""A library's warning, or the line of code below it: every process of a measurement warns anew."""


@contextmanager
def only_run(home: Path, name: str) -> Iterator[None]:
    """Hold the run ``name`` of this checkout, or of a project; wait while another process has it.

    The lock does not outlive a killed process. What that left running is waited for, and ended.
    Raises MissingEnvironment where that cannot be.
    """
    path = home / RESULTS / f".{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path, f"another process is at run '{name}' of {home}; waiting for it"):
        owners.end_leftovers(home / RESULTS / name)
        yield


def leave_with_owner(environ: Mapping[str, str]) -> bool:
    """Have this process ended when the command is gone that it works for; False if it is already.

    The jobs of a cluster, whose command is elsewhere, are cancelled by the run's next start.
    """
    owner = environ.get(owners.VARIABLE, "").partition(" ")[0]

    def watch() -> None:
        while not owners.is_gone(owner):
            time.sleep(OWNER_POLL_S)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_S)
        os._exit(128 + signal.SIGTERM)

    if owner and owners.is_gone(owner):
        return False
    if owner:
        threading.Thread(target=watch, daemon=True).start()
    return True


def run_process(
    command: Sequence[str],
    root: Path,
    run_dir: Path,
    *,
    environment: Mapping[str, str] | None = None,
    verbose: bool = False,
    on_cluster: bool = False,
    on_look: Callable[[], None] = lambda: None,
) -> int:
    """Exit code of the workflow, whose output goes to ``logs/snakemake.log`` of the run.

    Its jobs end with it when this process is interrupted or killed, or when a step finds that this
    machine lacks something. ``on_cluster``: the next node may have it, and the workflow itself
    cancels its jobs at an interrupt. ``on_look`` is called every ``LOOK_S``, and may end the run.
    """
    log = log_path(run_dir)
    log.parent.mkdir(parents=True, exist_ok=True)
    tie = tied_to_parent(signal.SIGINT if on_cluster else signal.SIGKILL)
    # A signal between the start and our knowing of it would leave the workflow to itself.
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
        silenced = threading.Event()
        told = process.stdout, log, verbose, silenced
        copying = threading.Thread(target=_copy, args=told, daemon=True)
        copying.start()
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return _wait(process, run_dir, on_look, on_cluster=on_cluster)
        finally:
            if process.poll() is None:
                silenced.set()
                _end_group(process, on_cluster=on_cluster)
            copying.join(DRAIN_S)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def log_path(run_dir: Path) -> Path:
    """Return where Snakemake's own words go."""
    return run_dir / "logs" / "snakemake.log"


def _copy(stream: IO[str], path: Path, verbose: bool, silenced: threading.Event) -> None:
    """Copy what a workflow says into its log, and tell lines for people until ``silenced``."""
    warned: set[str] = set()
    with path.open("w", encoding="utf-8") as log:
        for line in stream:
            log.write(line)
            log.flush()
            key = re.sub(r"\d+", "#", line) if WARNING.match(line) else ""
            meant = verbose or (line.startswith(OURS) and key not in warned)
            if meant and not silenced.is_set():
                with suppress(OSError):  # nobody listens any more: the log does
                    print(shown_line(line.rstrip("\n")), file=sys.stderr, flush=True)
            warned |= {key} - {""}


def _wait(
    process: "subprocess.Popen[str]",
    run_dir: Path,
    on_look: Callable[[], None],
    *,
    on_cluster: bool,
) -> int:
    """Wait, saying which steps failed; return 3 early where this machine lacks something."""
    known, due = set[str](), time.monotonic() + LOOK_S
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_S)
        if time.monotonic() > due:
            due = time.monotonic() + LOOK_S
            on_look()
        for failure in read_failures(run_dir):
            if failure.lacks_something and not on_cluster:
                return failure.exit_code
            if failure.step not in known:
                known.add(failure.step)
                say(f"{failure.step} failed; what does not depend on it goes on")


def _end_group(process: "subprocess.Popen[str]", *, on_cluster: bool) -> None:
    """Ask the workflow and its jobs to end, and see to it; another interrupt ends the patience."""
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

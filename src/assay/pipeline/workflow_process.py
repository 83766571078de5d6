"""The workflow as a process: its output kept in a log, our own lines told, its end seen to."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from assay.base.printable import shown_line
from assay.base.progress import say
from assay.base.signals import ENDING
from assay.measuring.device_warnings import ToldWarnings
from assay.pipeline.failures import StepFailure, read_failures
from assay.shared.parent_death import tied_to_parent

GRACE_S = 60.0
"""Time that jobs have to remove their containers when the run is interrupted."""
POLL_S = 0.5
"""How often failures of steps are looked for."""
QUIET_S = 20.0
"""A count of finished steps is told when nothing else was for so long."""
DRAIN_S = 5.0
"""Patience with whoever holds the workflow's output open when the workflow has ended."""
OURS = "assay: "
"""How every line begins that a step says to the person at the terminal."""
QUOTED = f"{OURS}  "
"""How a line begins that a step tells of another program."""
COUNTED = re.compile(r"^(\d+) of (\d+) steps \(")
"""Snakemake's count of finished jobs."""


class WorkflowOutput:
    """Copies what a workflow says into its log, and tells the lines that are meant for people."""

    def __init__(self, stream: IO[str], log: Path, *, verbose: bool) -> None:
        self._stream, self._log, self._verbose = stream, log, verbose
        self._told_at = time.monotonic()
        self._silenced = False
        self._warnings = ToldWarnings("/".join(log.parts[-2:]))
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
                if not self._silenced:
                    self._hand_on(line.rstrip("\n"))

    def _hand_on(self, line: str) -> None:
        if line.startswith(QUOTED) and not self._verbose:
            told = self._warnings.told(line.removeprefix(QUOTED))
            if told is None:
                return
            line = f"{QUOTED}{told}"
        self._tell(line)

    def _tell(self, line: str) -> None:
        count = COUNTED.match(line)
        now = time.monotonic()
        if not self._verbose and count and now - self._told_at >= QUIET_S:
            line = f"{OURS}{count[1]} of {count[2]} steps done"
        if self._verbose or line.startswith(OURS):
            self._told_at = now
            with suppress(OSError):  # nobody listens any more: the log does
                print(shown_line(line), file=sys.stderr, flush=True)


def run_process(
    command: Sequence[str],
    root: Path,
    run_dir: Path,
    *,
    environment: Mapping[str, str] | None = None,
    verbose: bool = False,
    ends_run: Callable[[StepFailure], bool] = lambda failure: False,
    cancels: bool = False,
    on_tick: Callable[[], None] = lambda: None,
) -> int:
    """Exit code of the workflow, whose output goes to ``logs/snakemake.log`` of the run.

    Its jobs end with it when this process is interrupted, or when a step fails in a way that
    ``ends_run``. ``cancels``: whether jobs run elsewhere and are cancelled by the workflow itself,
    which takes an interrupt for that. Where this process is killed, the kernel tells the workflow
    the same way, and its jobs look for themselves (see ``run_owner``). ``verbose`` tells
    everything, not only our own lines. ``on_tick`` is called about twice a second; what it raises
    ends the run.
    """
    log = log_path(run_dir)
    log.parent.mkdir(parents=True, exist_ok=True)
    tie = tied_to_parent(signal.SIGINT if cancels else signal.SIGKILL)
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
            return _wait(process, run_dir, ends_run, on_tick)
        finally:
            if process.poll() is None:
                output.silence()
                end_group(process, cancels=cancels)
            output.close()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def log_path(run_dir: Path) -> Path:
    """Return where Snakemake's own words go."""
    return run_dir / "logs" / "snakemake.log"


def _wait(
    process: "subprocess.Popen[str]",
    run_dir: Path,
    ends_run: Callable[[StepFailure], bool],
    on_tick: Callable[[], None],
) -> int:
    """Wait for the workflow, saying which steps failed; 3 or so, early, where one ends the run."""
    known: set[str] = set()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_S)
        on_tick()
        for failure in read_failures(run_dir):
            if ends_run(failure):
                return failure.exit_code
            if failure.step not in known:
                known.add(failure.step)
                say(f"{failure.step} failed; what does not depend on it goes on")


def end_group(process: "subprocess.Popen[str]", *, cancels: bool = False) -> None:
    """Ask the workflow and its jobs to end, and see to it that they do.

    Another interrupt on the way ends the patience with them.
    """
    if cancels:  # Snakemake cancels the jobs it placed when it is interrupted, and only then
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

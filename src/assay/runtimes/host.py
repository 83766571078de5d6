"""The host as a runtime: no container, the caller's own machine."""

import os
import secrets
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress

from assay.base.errors import MissingEnvironment
from assay.base.isolation import isolated
from assay.records.images import ImageRecord, RuntimeName
from assay.runtimes.base import CommandOutcome, Task
from assay.runtimes.owners import VARIABLE, environments
from assay.shared.processes import tied_to_parent

GRACE_S = 5.0
"""Seconds between asking a process to end and ending it."""
MARK = "ASSAY_TASK"
"""Variable that tells a task's processes from all others, whatever session or parent they have."""


class HostRuntime:
    """Runs commands as plain child processes; binds and limits do not apply."""

    name: RuntimeName = "host"

    def describe(self) -> str:
        """Return what stands in for an engine's version."""
        return "the host itself"

    def run(
        self, task: Task, image: ImageRecord | None, on_line: Callable[[str], None]
    ) -> CommandOutcome:
        """Run ``task``; it and all that it started are ended when this process is interrupted."""
        assert image is None
        ours = {"PATH": os.defpath, **isolated(os.environ)}
        passed_on = ours if task.inherit else {n: ours[n] for n in ("PATH", VARIABLE) if n in ours}
        mark = secrets.token_hex(8)
        try:
            process = subprocess.Popen(
                task.command,
                cwd=task.directory,
                env={**passed_on, **task.environment, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                preexec_fn=tied_to_parent(),
            )
        except OSError as error:
            raise MissingEnvironment(
                f"cannot start {task.command[0]}: {error.strerror or error}"
            ) from error
        assert process.stdout is not None
        with process.stdout:
            try:
                for line in process.stdout:
                    on_line(line.rstrip("\n"))
                _, status, used = os.wait4(process.pid, 0)  # the kernel counts what it takes
                code = os.waitstatus_to_exitcode(status)
                process.returncode = code  # or Popen would wait for it once more
            except BaseException:
                _end(process, mark)
                raise
        cpu_seconds, peak_bytes = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        return CommandOutcome(code, None, cpu_seconds=cpu_seconds, peak_bytes=peak_bytes)


def _end(process: "subprocess.Popen[str]", mark: str) -> None:
    """Ask a task's processes, by their mark, to end, and then end them; a driver may hold one."""
    wanted = f"{MARK}={mark}".encode()
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid, variables in environments():
            if wanted in variables:
                with suppress(OSError):
                    os.kill(pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)

"""What every container has in common: its first process, its limits, and how a command ended."""

import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence

from assay.base.errors import MissingEnvironment
from assay.runtimes.base import CommandOutcome, Task
from assay.shared.processes import tied_to_parent

MEMORY_SHARE = 0.9
"""Of the machine's memory: a job that leaks ends before it takes the machine with it."""
PIDS = 16384
"""Processes and threads: a few for each core of the largest machines, far from a fork bomb."""
SHARED_MEMORY = 1 << 30
"""Bytes of /dev/shm, which PyTorch's processes use; counted against the memory limit."""
OPEN_FILES = 4096
"""Enough for a link of CUTLASS; more than a daemon inside of a container may have to give."""
NO_COMMAND = 127
"""A shell's exit code for a command that there is none of."""
NOT_FOUND = "assay: the image has no such command"
NO_MEMORY = "assay: the kernel ended it for want of memory"
SHELL = (
    "/bin/sh",
    "-c",
    f"""exec 2>&1
command -v "$1" >/dev/null || {{ echo "{NOT_FOUND}"; exit 127; }}
"$@"
code=$?
if [ $code -eq 137 ]; then
    for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
        [ -r $file ] || continue
        while read -r key count; do
            if [ "$key" = oom_kill ] && [ "$count" -gt 0 ]; then echo "{NO_MEMORY}"; fi
        done <$file
    done
fi
exit $code""",
    "sh",
)
"""Process 1 of every container, with the command as its child.

One pipe for both streams keeps their lines in order. The command is no process 1 itself, since the
kernel keeps most signals from one, those of abort() and kill included; engines have inits of their
own, but not everywhere. And Podman tells of no lack of memory on older control groups.
"""


def memory_limit() -> int:
    """Return the bytes that a container may have."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)


def ulimits(*, is_podman: bool) -> dict[str, str]:
    """Return limits of processes as engines take them, and no core files. Said outright: an
    engine's defaults may exceed what it may give, as Podman's million processes.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    limits = {"nofile": f"{min(files, soft)}:{files}", "core": "0:0"}
    if is_podman:
        _, most = resource.getrlimit(resource.RLIMIT_NPROC)
        processes = PIDS if most == resource.RLIM_INFINITY else min(PIDS, most)
        limits["nproc"] = f"{processes}:{processes}"
    return limits


def streamed(
    command: Sequence[str], environment: Mapping[str, str], on_line: Callable[[str], None]
) -> tuple[int, str, str]:
    """Run a container's command line, killed with this process, each line to ``on_line``; its exit
    code, the last line, and what it said on standard error.
    """
    last = ""
    with (
        tempfile.TemporaryFile("w+", errors="replace") as errors,
        subprocess.Popen(
            command,
            env=dict(environment),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # a terminal's Ctrl-C is for us, who then end it
            preexec_fn=tied_to_parent(),
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                last = line.rstrip("\n")
                on_line(last)
            code = process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        errors.seek(0)
        return code, last, errors.read()


def outcome_of(
    task: Task, image_id: str, code: int, last: str, *, out_of_memory: bool = False
) -> CommandOutcome:
    """Return how a task ended. Raises MissingEnvironment where the image has no such command."""
    if code == NO_COMMAND and last == NOT_FOUND:
        raise MissingEnvironment(f"{image_id[:19]} has no command {task.command[0]}")
    killed = code != 0 and (out_of_memory or last.endswith(NO_MEMORY))
    number = code - 128  # how shells and engines tell of a signal
    signalled = number in {one.value for one in signal.Signals}
    return CommandOutcome(-number if signalled else code, image_id, out_of_memory=killed)


def one_line(text: str) -> str:
    """Return another program's last words on one line."""
    return " ".join(text.split())[-300:]

"""The host as a runtime: no container, the caller's own machine."""

import os
import subprocess
from collections.abc import Callable

from assay.errors import MissingEnvironment
from assay.records.images import ImageRecord, RuntimeName
from assay.runtimes.base import Outcome, Task


class HostRuntime:
    """Runs commands as plain child processes; binds and limits do not apply."""

    name: RuntimeName = "host"

    def describe(self) -> str:
        """What stands in for an engine's version."""
        return "the host itself"

    def run(self, task: Task, image: ImageRecord | None, on_line: Callable[[str], None]) -> Outcome:
        """Run ``task``; it is ended when this process is interrupted."""
        if image is not None:
            raise ValueError("the host runs no images")
        inherited = dict(os.environ) if task.inherit else {}
        inherited.setdefault("PATH", os.environ.get("PATH", os.defpath))
        try:
            process = subprocess.Popen(
                task.command,
                cwd=task.directory,
                env={**inherited, **task.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
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
                return Outcome(exit_code=process.wait(), image_id=None)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()

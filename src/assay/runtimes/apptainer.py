"""Apptainer as a runtime: what clusters have, where nobody may talk to a daemon."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.progress import say
from assay.base.writable import disk_is_full
from assay.records.images import ImageRecord, RuntimeName
from assay.runtimes.base import CommandOutcome, RuntimeAbsent, Task
from assay.runtimes.containers import PIDS, SHELL, memory_limit, one_line, outcome_of, streamed
from assay.runtimes.gpu_access import find_driver
from assay.shared.files import sha256_file

PROGRAMS = ("apptainer", "singularity")
FAILED = 255
"""Its own exit code when a container could not be started."""
FATAL = "FATAL:"
"""What it begins its last line with then."""
COMPRESSION = "-comp zstd -Xcompression-level 3"
"""Three times as fast as the default, and images are read more than shipped."""

Argument = tuple[str, ...]


def isolations() -> tuple[tuple[Argument, str], ...]:
    """Return arguments, strictest first (not all are granted to users), and what each lacks."""
    network = ("--net", "--network", "none")
    limits = ("--memory", str(memory_limit()), "--pids-limit", str(PIDS))
    return (
        ((*network, *limits), ""),
        (network, "no limits on memory and processes"),
        (limits, "the host's network"),
        ((), "the host's network, no limits on memory and processes"),
    )


class ApptainerRuntime:
    """Runs commands in SIF files made from the same images."""

    name: RuntimeName = "apptainer"

    def __init__(self, program: str, version: str, sif_of: Callable[[ImageRecord], Path]) -> None:
        self.program = program
        self.version = version
        self.sif_of = sif_of
        self._isolation: tuple[Argument, str] | None = None
        self._checked: dict[tuple[str, int, int], str] = {}

    @classmethod
    def find(cls, sif_of: Callable[[ImageRecord], Path]) -> "ApptainerRuntime":
        """Return the installed one. Raises MissingEnvironment when there is none that starts."""
        program = find_program()
        run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if run.returncode != 0 or not run.stdout.strip():
            said = " ".join(run.stderr.split())[:200] or f"exit code {run.returncode}"
            raise MissingEnvironment(f"{program} does not start ({said}); install it again")
        return cls(program, run.stdout.split()[-1], sif_of)

    def describe(self) -> str:
        """Return the program with its version, and what it goes without once that is known."""
        name = Path(self.program).name.capitalize()
        without = self._isolation[1] if self._isolation else ""
        return f"{name} {self.version}{f' ({without})' if without else ''}"

    def gpu_access(self) -> None:
        """Raise MissingEnvironment where ``--nv`` would find no driver."""
        if find_driver() is None:
            raise MissingEnvironment(
                "Apptainer works, but this host has no NVIDIA driver that it could pass on "
                "(no /dev/nvidiactl or no libcuda.so.1); install the driver"
            )

    def run(
        self, task: Task, image: ImageRecord | None, on_line: Callable[[str], None]
    ) -> CommandOutcome:
        """Run ``task`` in the image's SIF file. Raises CheckFailed for another SIF than recorded.

        A SIF file cannot be asked for the image it was made from, so its own digest is compared.
        """
        assert image is not None
        sif = self.sif_of(image)
        self._check(sif, image)
        with tempfile.TemporaryDirectory(prefix="assay-apptainer-") as scratch:
            strictest = self._isolate(sif, Path(scratch))
            command = command_line(self.program, strictest, task, sif, Path(scratch))
            variables = outer_environment(self.program, task.environment)
            code, last, says = streamed(command, variables, on_line)
        if code == FAILED and FATAL in says:
            refusal = one_line(says.rpartition(FATAL)[2])
            raise MissingEnvironment(f"{self.describe()} cannot start {task.label}: {refusal}")
        return outcome_of(task, image.image_id, code, last)

    def _isolate(self, sif: Path, scratch: Path) -> Argument:
        """Return the strictest isolation that this installation permits, tried once."""
        if self._isolation is None:
            task = Task(("true",), Path("/"), "a trial")
            environment = outer_environment(self.program, {})
            for arguments, without in isolations():
                command = command_line(self.program, arguments, task, sif, scratch)
                run = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=False
                )
                if run.returncode == 0:
                    self._isolation = (arguments, without)
                    if without:
                        say(f"{Path(self.program).name} runs its containers with {without}")
                    break
            else:
                raise MissingEnvironment(
                    f"{self.describe()} cannot start {sif.name}: {one_line(run.stderr)}"
                )
        return self._isolation[0]

    def _check(self, sif: Path, image: ImageRecord) -> None:
        if not sif.is_file():
            raise MissingEnvironment(f"there is no SIF file {sif}; make it with ./assay lab image")
        stat = sif.stat()
        key = (str(sif), stat.st_mtime_ns, stat.st_size)
        if key not in self._checked:
            self._checked[key] = sha256_file(sif)
        if self._checked[key] != image.sif_sha256:
            raise CheckFailed(f"{sif} is not the SIF file that was made from {image.tag}")


def find_program() -> str:
    """Return the path of Apptainer, or of Singularity, which it was. Raises MissingEnvironment."""
    for name in PROGRAMS:
        if path := shutil.which(name):
            return path
    raise RuntimeAbsent(
        "Apptainer is not installed: neither apptainer nor singularity on PATH", "not installed"
    )


def command_line(
    program: str, isolation: Argument, task: Task, sif: Path, scratch: Path
) -> list[str]:
    """Return a task's command. ``scratch`` holds the container's /tmp: its own is tiny."""
    binds: list[str] = []
    for bind in task.binds:
        ends = "" if bind.writable else ",ro"
        binds += ["--mount", f"type=bind,source={bind.path},destination={bind.path}{ends}"]
    home = task.environment.get("HOME", "/tmp")  # noqa: S108 - inside of the container
    return [
        program, "--silent", "exec", "--containall", "--cleanenv", "--no-home",
        *(["--nv"] if task.gpu else []), *isolation, "--workdir", str(scratch), *binds,
        "--pwd", str(task.directory), str(sif),
        # It lets nobody set HOME from outside.
        "env", f"HOME={home}", *SHELL, *task.command,
    ]  # fmt: skip


def outer_environment(program: str, inner: Mapping[str, str]) -> dict[str, str]:
    """Apptainer's variables with the container's; not by ``--env``, which cuts at commas."""
    prefix = f"{Path(program).name.upper()}ENV_"
    # Each of the two programs passes on what is meant for the other's containers, too.
    prefixes = tuple(f"{name.upper()}ENV_" for name in PROGRAMS)
    outer = {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}
    return outer | {f"{prefix}{key}": value for key, value in inner.items() if key != "HOME"}


def make_sif(archive: Path, sif: Path) -> str:
    """Make a SIF file of a docker archive, whole or not; its SHA-256. Raises MissingEnvironment."""
    program = find_program()
    sif.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{sif.name}.", dir=sif.parent) as folder:
        made = Path(folder) / sif.name
        variable = Path(program).name.upper()
        places = {f"{variable}_{name}": folder for name in ("TMPDIR", "CACHEDIR")}
        command = [program, "--silent", "build", "--mksquashfs-args", COMPRESSION]
        run = subprocess.run(
            [*command, str(made), f"docker-archive:{archive.resolve()}"],
            env={**os.environ, **places},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0 or not made.is_file():
            raise MissingEnvironment(
                f"the disk is full: {sif} was not made; free some space and run again"
                if disk_is_full(run.stderr)
                else f"{Path(program).name} made no SIF file from {archive}: {one_line(run.stderr)}"
            )
        digest = sha256_file(made)
        made.chmod(0o644)
        made.replace(sif)
    return digest

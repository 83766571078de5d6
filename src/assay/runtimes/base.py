"""One small interface to every runtime: a command, what it may see, and how it ended."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from assay.base.errors import MissingEnvironment
from assay.records.images import ImageRecord, RuntimeName


class RuntimeAbsent(MissingEnvironment):
    """There is nothing of a runtime here that could be mended; the text says how to get it."""

    def __init__(self, sentence: str, brief: str) -> None:
        super().__init__(sentence)
        self.brief = brief
        """The same in two words."""


@dataclass(frozen=True)
class Bind:
    """A path of the host that a container sees at the same place."""

    path: Path
    writable: bool = False


@dataclass(frozen=True)
class Task:
    """One command. Paths are absolute and the same inside and outside of a container."""

    command: tuple[str, ...]
    directory: Path
    label: str
    """What it is, in a few words, for messages and for the engine's own list of containers."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that are set; a container has no others but its image's and its engine's own.

    HOME is a container's /tmp unless it stands here."""
    inherit: bool = False
    """On the host: whether the caller's other variables are passed on, but for those that would
    have a Python, or any program, run code from elsewhere (see ``assay.base.isolation``)."""
    binds: tuple[Bind, ...] = ()
    """What a container sees of the host's files. ``directory`` must be covered by one."""
    gpu: bool = False
    counters: bool = False
    """Whether it reads the GPU's performance counters, which drivers keep for administrators."""


@dataclass(frozen=True)
class CommandOutcome:
    """The end of a command."""

    exit_code: int
    """Negative signal number when a signal ended it, on every runtime."""
    image_id: str | None
    """Digest of the image that ran, asked of the engine; None on the host."""
    out_of_memory: bool = False
    cpu_seconds: float | None = None
    """Processor time of the command and all it waited for; None where it is not counted."""
    peak_bytes: int | None = None
    """Resident memory of its largest process at its largest; None where it is not counted. The
    kernel counts no less than what the process that started it held then."""


class Runtime(Protocol):
    """Runs commands to their end."""

    name: RuntimeName

    def describe(self) -> str:
        """Return the engine with its version, as one phrase: "Docker Engine 26.1.5"."""
        ...

    def run(
        self, task: Task, image: ImageRecord | None, on_line: Callable[[str], None]
    ) -> CommandOutcome:
        """Run ``task`` in ``image`` (None on the host) to its end, each line of both outputs to
        ``on_line`` as it comes. A container has no network, the caller's user and group ids, a
        read-only root, a /tmp of its own, the declared binds, and limits on memory and processes;
        it is removed whatever happens. Raises MissingEnvironment when it cannot be started at all.
        """
        ...


@dataclass(frozen=True)
class Place:
    """The place where a job runs."""

    runtime: Runtime
    image: ImageRecord | None = None
    python: str = "python3"
    """The Python that has PyTorch, as this place names it."""
    packages: tuple[Path, ...] = ()
    """Directories of the host's in which that Python looks for packages first."""
    cache: Path | None = None
    """Directory in which GPU jobs keep what they compile at run time, for the jobs after them."""
    project: Path | None = None
    """Copy of a project's files, whose functions GPU jobs call; None where there is none."""
    gpu: str | None = None
    """UUID of the one GPU that jobs here see; None: those that the caller's variables leave."""
    protected: tuple[Path, ...] = ()
    """Folders in which a project's code changes nothing but what is in ``cache``."""

    def run(self, task: Task, on_line: Callable[[str], None]) -> CommandOutcome:
        """Run a command here."""
        return self.runtime.run(task, self.image, on_line)

    def ncu(self) -> str | None:
        """Nsight Compute's command here, or None where it is not installed."""
        return shutil.which("ncu") if self.image is None else self.image.nsight_compute


def caller() -> str:
    """Return the calling user and group, as uid:gid."""
    return f"{os.getuid()}:{os.getgid()}"

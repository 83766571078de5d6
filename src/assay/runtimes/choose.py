"""The choice of the runtime that jobs run in: the one asked for, or the first that works."""

from collections.abc import Callable
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.records.images import ImageRecord, RuntimeName, RuntimeWish, is_engine
from assay.runtimes.apptainer import ApptainerRuntime
from assay.runtimes.base import CommandOutcome, Runtime, RuntimeAbsent, Task
from assay.runtimes.engine import EngineRuntime
from assay.runtimes.host import HostRuntime

RUNTIMES: tuple[RuntimeName, ...] = ("docker", "podman", "apptainer", "host")
SifOf = Callable[[ImageRecord], Path]
"""Where the SIF file of an image lies."""


def open_image(
    name: RuntimeName, reference: str
) -> Callable[[Task, Callable[[str], None]], CommandOutcome]:
    """Return what runs tasks in the image of a digest. Raises MissingEnvironment without it."""
    if not is_engine(name):
        raise MissingEnvironment(
            f"it runs in image {reference}, and --runtime {name} starts none by its digest: "
            "--runtime docker or podman does"
        )
    runtime = EngineRuntime(name)
    found = runtime.find_image(reference)
    return lambda task, on_line: runtime.run(task, found, on_line)


def no_sif(image: ImageRecord) -> Path:
    """For callers who only ask whether Apptainer works."""
    raise MissingEnvironment(f"no SIF file of image {image.tag} was made on this machine")


def choose(
    wish: RuntimeWish,
    *,
    gpu: bool,
    sif_of: SifOf = no_sif,
    objection: Callable[[RuntimeName], str | None] = lambda name: None,
) -> tuple[Runtime, list[str]]:
    """Return the runtime ``wish``, open, or for ``auto`` the first that works (with ``gpu``: gives
    GPUs) and has no ``objection``; a line on those not here, and one on each that was looked at.
    Raises MissingEnvironment when the runtime asked for does not work.
    """
    lines: list[str] = []
    absent: list[str] = []
    for name in RUNTIMES if wish == "auto" else (wish,):
        try:
            runtime = open_runtime(name, gpu=gpu, sif_of=sif_of)
        except MissingEnvironment as error:
            if wish != "auto":
                raise
            if isinstance(error, RuntimeAbsent):
                absent.append(f"{name} ({error.brief})")
            else:
                lines.append(f"runtime {name}: {error}")
            continue
        if wish == "auto" and (why := objection(name)):
            lines.append(f"runtime {name}: {runtime.describe()} works, but {why}")
            continue
        access = runtime.gpu_access() if gpu and isinstance(runtime, EngineRuntime) else None
        by = f", GPUs by {access.how}" if access else ""
        lines.append(f"runtime {name}: {runtime.describe()} works{by}")
        if absent:
            every = len(absent) == len(RUNTIMES) - 1  # the host is always here
            where = "no container runtime here" if every else "not here"
            lines.insert(0, f"{where}: {', '.join(absent)}")
        return runtime, lines
    raise AssertionError("the host always works")


def open_runtime(name: RuntimeName, *, gpu: bool = False, sif_of: SifOf = no_sif) -> Runtime:
    """Return the runtime ``name``, ready to run. Raises like choose()."""
    if name == "host":
        return HostRuntime()
    runtime = ApptainerRuntime.find(sif_of) if name == "apptainer" else EngineRuntime(name)
    if gpu:
        runtime.gpu_access()
    return runtime

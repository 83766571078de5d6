"""What a machine says of itself, and what stands in the way of a run there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from assay.base.errors import MissingEnvironment

State = Literal["none", "foreign", "copied", "running", "ended", "lost"]
"""Of the folder there: nothing, somebody else's, no run yet, one that goes on, one that came to its
end, one that was cut short."""
RUN_BYTES = 4_000_000_000
"""What a run on the host may take: packages, compilers, builds and records."""


@dataclass(frozen=True)
class RemoteMachine:
    """The answers of a machine."""

    system: str
    lacks: tuple[str, ...]
    python: str | None
    """Path of a Python 3.11 or newer."""
    old_python: str | None
    """Version of an older one."""
    gpus: tuple[str, ...]
    gpu_problem: str | None
    """What nvidia-smi says where it fails."""
    free_bytes: int


@dataclass(frozen=True)
class RunThere:
    """The state of a folder there."""

    state: State
    stamp: str | None
    """Digest of what was copied whole."""
    code: int | None
    """How the run ended."""


def answers(text: str) -> dict[str, list[str]]:
    """Return the lines "NAME VALUE" of a machine by name."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        found.setdefault(name, []).append(value.strip())
    return found


def parse_machine(host: str, told: dict[str, list[str]]) -> RemoteMachine:
    """Return what a machine said. Raises MissingEnvironment for one that speaks otherwise."""

    def one(name: str) -> str | None:
        return next(iter(told.get(name, [])), None)

    free = one("free_kb") or ""
    if one("system") is None or not free.isdecimal():
        raise _strange(host)
    return RemoteMachine(
        system=told["system"][0],
        lacks=tuple(told.get("lacks", [])),
        python=one("python"),
        old_python=one("old_python"),
        gpus=tuple(name for name in told.get("gpu", []) if name),
        gpu_problem=one("gpu_problem"),
        free_bytes=int(free) * 1024,
    )


def parse_run(host: str, told: dict[str, list[str]]) -> RunThere:
    """Return the state of the folder. Raises MissingEnvironment for what is none, and for what the
    machine refused.
    """
    if refused := told.get("refused"):
        raise MissingEnvironment(f"{host}: {refused[0]}")
    for state in get_args(State):
        if told.get("state") == [state]:
            code = told.get("exit", [""])[0]
            stamp = told.get("stamp", [None])[0]
            return RunThere(state, stamp, int(code) if code.isdecimal() else None)
    raise _strange(host)


def _strange(host: str) -> MissingEnvironment:
    return MissingEnvironment(
        f"{host}: does not answer as a Linux with a POSIX shell does: see that ssh {host} true "
        "prints nothing, and that no program takes the shell's place there"
    )


def objections(machine: RemoteMachine, payload_bytes: int, *, own_python: bool) -> Iterator[str]:
    """Yield what stands in the way of a run there, each with its remedy.

    ``own_python``: whether the machine's own Python is to run it.
    """
    if machine.system != "Linux x86_64":
        yield f"is {machine.system}, and what measures is built for Linux x86_64"
    if machine.lacks:
        yield f"lacks {', '.join(machine.lacks)}: install the packages that have them"
    if machine.gpu_problem is not None:
        yield f"its nvidia-smi fails ({machine.gpu_problem}): have the driver mended"
    elif not machine.gpus:
        yield "has no nvidia-smi that names a GPU: rent a machine with NVIDIA's driver installed"
    if own_python and machine.python is None:
        there = (
            f"its python3 is {machine.old_python}" if machine.old_python else "it has no python3"
        )
        yield (
            f"has no Python 3.11 or newer ({there}): install one there "
            "(apt-get install python3.11 python3.11-venv)"
        )
    needed = payload_bytes + RUN_BYTES
    if machine.free_bytes < needed:
        yield (
            f"has {machine.free_bytes / 1e9:.1f} GB of free disk, and a run takes up to "
            f"{needed / 1e9:.1f} GB: make room there, or name another folder with --folder"
        )

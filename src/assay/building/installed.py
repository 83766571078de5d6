"""Asking a Python of this machine for optional packages, without importing anything of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import AssayError
from assay.base.isolation import python_variables
from assay.records.rivals import Rival
from assay.runtimes.base import Task
from assay.runtimes.host import HostRuntime

ANSWER = "installed:"
QUESTION = f"""
import importlib.metadata as metadata, json, sys
def look(name):
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    files = [file for file in found.files or () if file.name.endswith(".so") or ".so." in file.name]
    return [found.version, [[str(file), str(found.locate_file(file))] for file in files]]
print({ANSWER!r} + json.dumps({{name: look(name) for name in sys.argv[1:]}}))
"""


@dataclass(frozen=True)
class Installed:
    """A package that a Python has."""

    version: str
    objects: tuple[tuple[str, Path], ...]
    """Its shared objects: as the package lists them, and where they lie."""


def find_installed(
    python: str, rivals: Sequence[Rival], packages: Sequence[Path] = ()
) -> dict[str, Installed]:
    """Return which of ``rivals`` a Python has, by id; a Python that does not start has none.

    ``packages``: directories into which it looks before its own.
    """
    if not rivals:
        return {}
    lines: list[str] = []
    names = [rival.main.name for rival in rivals]
    task = Task(
        command=(python, "-c", QUESTION, *names),
        directory=Path("/"),
        label="ask the device's Python for optional packages",
        environment=python_variables(packages),
        inherit=True,
    )
    try:
        HostRuntime().run(task, None, lines.append)
    except AssayError:
        return {}
    told = next((line for line in lines if line.startswith(ANSWER)), None)
    if told is None:
        return {}
    answer = json.loads(told.removeprefix(ANSWER))
    return {
        rival.id: Installed(
            answer[rival.main.name][0],
            tuple((name, Path(path)) for name, path in answer[rival.main.name][1]),
        )
        for rival in rivals
        if answer[rival.main.name] is not None
    }

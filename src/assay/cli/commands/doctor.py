"""``./assay doctor``: say what this machine can do, and how to get what it lacks."""

from typing import Annotated

import typer

from assay.base.isolation import DEVICE_PATH, package_directory
from assay.cli import checkout, console
from assay.cli.diagnosis import State, diagnose
from assay.cli.options import DevicePathOption
from assay.cli.project_folder import ProjectOption, project_folder
from assay.measuring.device_process import device_python as named_python

INDENT = 10
"""Characters before what a line says."""


def doctor(
    device_python: Annotated[
        str | None,
        typer.Option(
            help="Python that would measure, as for reproduce.", envvar="ASSAY_DEVICE_PYTHON"
        ),
    ] = None,
    device_path: DevicePathOption = None,
    project: ProjectOption = None,
) -> None:
    """Say what this machine can do, and how to get what it lacks."""
    packages = [package_directory(DEVICE_PATH, name) for name in device_path or ()]
    folder = project_folder(project)
    abilities, found = diagnose(checkout.ROOT, named_python(device_python), packages, folder)
    lines = [*abilities.items()]
    for state in State:
        parts = [each.words for each in found if each.state is state]
        if parts:
            lines.append((state.value, ("; " if state is State.WRONG else ", ").join(parts)))
    for head, text in lines:
        console.say(f"{head + ':':{INDENT}}{text}", indent=INDENT)
    for each in found:
        if each.fix:
            console.say_line(f"to get {each.part}: {each.fix}")

"""``./assay doctor``: say what this machine can do, and how to get what it lacks."""

import shlex
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.isolation import DEVICE_PATH, package_directory
from assay.base.yaml_problems import suggest
from assay.cli import checkout, console
from assay.cli.diagnosis import Diagnosis, State, diagnose
from assay.cli.options import DevicePathOption
from assay.cli.project_folder import ProjectOption, project_folder
from assay.measuring.device_process import device_python as named_python
from assay.report import formatting as fmt

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
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Print the shell line that gets what is not here, and no more."
        ),
    ] = None,
) -> None:
    """Say what this machine can do, and how to get what it lacks."""
    packages = [package_directory(DEVICE_PATH, name) for name in device_path or ()]
    folder = project_folder(project)
    found = diagnose(checkout.ROOT, named_python(device_python), packages, folder)
    if fix is None:
        show_diagnosis(found)
    else:
        show_fix(found, fix)


def show_diagnosis(diagnosis: Diagnosis) -> None:
    """Print what the machine can do, then its parts by their state."""
    lines = [(each.name, each.answer) for each in diagnosis.abilities]
    for state in State:
        found = [each.words for each in diagnosis.findings if each.state is state]
        if found:
            lines.append((state.value, ("; " if state is State.WRONG else ", ").join(found)))
    if diagnosis.fixes:
        prints = f"{shlex.quote(checkout.command())} doctor --fix NAME prints the line for"
        lines.append(("to get", f"{prints} {fmt.either(list(diagnosis.fixes))}"))
    for head, text in lines:
        console.say(f"{head + ':':{INDENT}}{text}", indent=INDENT)


def show_fix(diagnosis: Diagnosis, name: str) -> None:
    """Print the shell line that gets a part, and nothing else. Raises BadInput where none does."""
    if any(each.part == name and each.state is State.OK for each in diagnosis.findings):
        raise BadInput(f"{name} is here already")
    if name not in diagnosis.fixes:
        raise BadInput(f"no line is known that gets '{name}'{suggest(name, diagnosis.fixes)}")
    console.say_line(diagnosis.fixes[name])

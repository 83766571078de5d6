"""``./assay doctor``: say what this machine can do, and how to get what it lacks."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.isolation import DEVICE_PATH, package_directory
from assay.base.yaml_problems import suggest
from assay.cli import checkout, console
from assay.cli.diagnosis import Finding, State, diagnose
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
    abilities, found = diagnose(checkout.ROOT, named_python(device_python), packages, folder)
    fixes = {each.part: each.fix for each in found if each.fix}
    if fix is None:
        _show(abilities, found, fixes)
        return
    if any(each.part == fix and each.state is State.OK for each in found):
        raise BadInput(f"{fix} is here already")
    if fix not in fixes:
        raise BadInput(f"no line is known that gets '{fix}'{suggest(fix, fixes)}")
    console.say_line(fixes[fix])


def _show(
    abilities: Mapping[str, str], findings: Sequence[Finding], fixes: Mapping[str, str]
) -> None:
    """Print what the machine can do, then its parts by their state."""
    lines = [*abilities.items()]
    for state in State:
        found = [each.words for each in findings if each.state is state]
        if found:
            lines.append((state.value, ("; " if state is State.WRONG else ", ").join(found)))
    if fixes:
        prints = f"{shlex.quote(checkout.command())} doctor --fix NAME prints the line for"
        lines.append(("to get", f"{prints} {fmt.either(list(fixes))}"))
    for head, text in lines:
        console.say(f"{head + ':':{INDENT}}{text}", indent=INDENT)

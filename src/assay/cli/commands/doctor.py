"""``./assay doctor``: look over this machine."""

from typing import Annotated

import typer

from assay.base.isolation import DEVICE_PATH, package_directory
from assay.cli import checkout
from assay.cli.diagnosis import diagnose
from assay.cli.diagnosis_output import show_diagnosis, show_fix
from assay.cli.options import DevicePathOption
from assay.cli.project_folder import ProjectOption, project_folder
from assay.pipeline.request import device_python as named_python


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

"""``./assay doctor``: look over this machine."""

from typing import Annotated

import typer

from assay.base.isolation import DEVICE_PATH, package_directory
from assay.cli import checkout
from assay.cli.diagnosis import diagnose
from assay.cli.diagnosis_output import show_diagnosis
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
) -> None:
    """Say what this machine has, what it lacks, and what it can do."""
    packages = [package_directory(DEVICE_PATH, name) for name in device_path or ()]
    folder = project_folder(project)
    show_diagnosis(diagnose(checkout.ROOT, named_python(device_python), packages, folder))

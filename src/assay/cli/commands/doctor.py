"""``./assay doctor``: look over this machine."""

from typing import Annotated

import typer

from assay.cli import checkout, console
from assay.cli.diagnosis import diagnose
from assay.pipeline.request import device_python as named_python


def doctor(
    device_python: Annotated[
        str | None,
        typer.Option(
            help="Python that would measure, as for reproduce.", envvar="ASSAY_DEVICE_PYTHON"
        ),
    ] = None,
) -> None:
    """Say what this machine has, what it lacks, and what it can do."""
    console.show_diagnosis(diagnose(checkout.ROOT, named_python(device_python)))

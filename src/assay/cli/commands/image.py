"""``./assay image``: make and load the image of a target."""

from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.cli.result_tables import show_image
from assay.images.stage import make_image
from assay.records.images import Role, RuntimeWish
from assay.runtimes.choose import known


def image(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    role: Annotated[Role, typer.Option(help="toolchain compiles, runner measures.")] = "toolchain",
    runtime: Annotated[
        RuntimeWish,
        typer.Option(help="docker or podman; apptainer converts what one of them made."),
    ] = "docker",
) -> None:
    """Make a target's image and load it, as reproduce would."""
    catalog = load_catalog(checkout.ROOT)
    catalog.check_selection((), [target])
    if runtime in ("auto", "host"):
        raise BadInput(f"--runtime {runtime}: name docker, podman or apptainer")
    name = known(runtime)
    record, _ = make_image(checkout.ROOT, name, role, catalog.targets[target])
    show_image(record)

"""``./assay bundle``: pack what runs on a node without any network."""

import os
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import checkout
from assay.cli.console import say
from assay.cli.make_bundle import BundlePlan, make_bundle
from assay.cli.options import CoresOption
from assay.records.images import RuntimeWish


def bundle(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    output: Annotated[
        Path | None,
        typer.Option(
            help="The archive; .gz names are compressed.", show_default="assay-TARGET.tar"
        ),
    ] = None,
    runtime: Annotated[
        RuntimeWish | None, typer.Option(help="Where to compile; host leaves out the images.")
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(help="Python version of the node, as 3.12; repeatable.", show_default="this"),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Source id, to pack only its kernels; repeatable.")
    ] = None,
    runner: Annotated[
        bool, typer.Option("--runner", help="Put the image that measures in, too: several GB.")
    ] = False,
    cores: CoresOption = None,
) -> None:
    """Pack an archive that runs reproduce on a node without network."""
    defaults = checkout.default_run()
    plan = BundlePlan(
        target=target,
        output=output or Path(f"assay-{target}.tar"),
        runtime=runtime or defaults.runtime,
        pythons=tuple(python or ()),
        sources=tuple(source or defaults.sources),
        runner=runner,
        cores=cores or os.cpu_count() or 1,
    )
    size = make_bundle(checkout.ROOT, plan)
    say(f"bundle: {plan.output} ({size / 1e6:.0f} MB)")
    say("on the node: tar xf it, then run.sh in the folder that comes out")

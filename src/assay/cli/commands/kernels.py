"""``./assay kernels``: compile what PyTorch's operators call."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import checkout
from assay.cli.console import say
from assay.cli.export_kernels import make_kernel_set
from assay.records.images import RuntimeWish


def kernels(
    target: Annotated[str, typer.Option(help="Target from config/targets.")] = "h100",
    output: Annotated[
        Path | None, typer.Option(help="Folder.", show_default="results/kernels/TARGET")
    ] = None,
    runtime: Annotated[
        RuntimeWish | None, typer.Option(help="Where to compile: a container runtime, or host.")
    ] = None,
) -> None:
    """Compile the kernels that PyTorch calls."""
    folder = output or Path("results", "kernels", target)
    wish = runtime or checkout.default_run().runtime
    index = make_kernel_set(checkout.ROOT, target, folder, wish)
    say(f"{folder}: {', '.join(entry.variant for entry in index.kernels)}")
    say(f'in Python: import assay.ops; assay.ops.load("{folder}")')

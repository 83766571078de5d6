"""``./assay cdi``: describe this machine's GPUs to container engines."""

import sys
from typing import Annotated

import typer

from assay.cli.console import say
from assay.runtimes.cdi import SPECIFICATION, dump, look, make, names, write_spec


def cdi(
    write: Annotated[
        bool, typer.Option("--write", help="Write it where engines look for it.")
    ] = False,
) -> None:
    """Describe this machine's GPUs to containers (CDI)."""
    if write:
        spec = write_spec()
        say(f"written: {SPECIFICATION} ({', '.join(names(spec))})")
    else:
        sys.stdout.write(dump(make(look())).decode())

"""A project is code: what of it runs is said, and asked about, before it does."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.progress import say
from assay.catalog.model import Catalog
from assay.records.originals import OriginalJob
from assay.records.plan import Plan

TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-project",
        help="Run the project's code without asking: it is its author's, and runs as you.",
    ),
]
YES = ("y", "yes")
CONTAINED = "in a container, without network"
SHOWN_AT_ONCE = 1000
"""Characters of a line that is shown in several, where it is longer."""


def require_trust(catalog: Catalog, plan: Plan, *, trusted: bool) -> None:
    """Say what code of the project will run, and ask at a terminal whether it shall.

    Raises BadInput where the answer is no, or nobody is there to be asked.
    """
    lines = list(code_that_runs(catalog, plan))
    if not lines:
        return
    for line in lines:
        for begin in range(0, len(line), SHOWN_AT_ONCE):  # nothing of it is cut off
            say(line[begin : begin + SHOWN_AT_ONCE])
    if trusted:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            "this project's code would run, and nobody is at the terminal to be asked: read it, "
            "then add --trust-project"
        )
    sys.stderr.write("assay: run it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in YES:
        raise BadInput("nothing of the project was run")


def code_that_runs(catalog: Catalog, plan: Plan) -> Iterator[str]:
    """Yield a line on each function of the project that is called where a target is measured."""
    if catalog.project is None:
        return
    for target in plan.targets:
        if target.provision.kind != "device":
            continue
        for own in target.originals:
            image = _image_of(catalog, own)
            inside = f"in a container of {image}, without network" if image else None
            place = inside or (CONTAINED if target.runner else "as you")
            for line in (own.build, own.run, own.typed):
                if line is not None:
                    yield f"command {own.original} on {target.target} runs, {place}: {line.line}"
        where = CONTAINED if target.runner else "as you, in no container"
        for name in target.comparisons:
            if name in catalog.project.measures:
                code = catalog.workloads[name].code
                assert code is not None
                compiled = (
                    catalog.variants[arm.variant].source for arm in catalog.comparisons[name].arms
                )
                files = [f"{code.file}:{code.function}", *filter(None, compiled)]
                yield (
                    f"{name} on {target.target} runs the project's own code {where}: "
                    f"{', '.join(files)}"
                )


def _image_of(catalog: Catalog, own: OriginalJob) -> str | None:
    """Return the image that a command names."""
    described = catalog.sources[own.source].own_program(own.original)
    return described.image if described else None

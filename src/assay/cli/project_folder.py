"""The project that a command works in, and what code of it runs: said, and asked about, before."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.progress import say
from assay.base.writable import CACHE_VARIABLE, project_cache
from assay.catalog.model import Catalog
from assay.catalog.project_folder import PROJECT_FILE, file_problem
from assay.cli import checkout
from assay.records.plan import Plan, RunConfig
from assay.verification.trusted_keys import project_keys, trusted_keys

ODD = re.compile(r"[^\w./+@,~= -]")
"""What the workflow, whose files' names are patterns, would take for something else."""
ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="DIR",
        help=f"Project folder, with {PROJECT_FILE}: its claims are judged; its results, reports "
        "and trusted keys are used. Default: the current folder, if it has that file.",
    ),
]


def project_folder(named: Path | None) -> Path | None:
    """Return the project's folder, absolute; None where this repository's own sources are meant.

    Folders above are not looked at. Raises BadInput for one that is named and is no project.
    """
    folder = Path.cwd() if named is None else named
    if os.path.lexists(folder / PROJECT_FILE):
        place = folder.resolve()
        if (problem := file_problem(place, PROJECT_FILE)) is not None:
            raise BadInput(f"{place / PROJECT_FILE}: {problem}")
        if (odd := ODD.search(str(place))) is not None:
            raise BadInput(
                f"{place}: a project's path has letters, digits, blanks and . _ - + @ , ~ = only, "
                f"no {odd[0]!r}: move it"
            )
        return place
    if named is not None:
        if named.exists() and not named.is_dir():
            raise BadInput(f"{named}: is no folder, and a project is one that holds {PROJECT_FILE}")
        new = shlex.join([checkout.command(), "new", str(named)])
        writes = f"{new} writes one" if is_free(named) else "name the folder that does"
        raise BadInput(f"{named}: holds no {PROJECT_FILE}: {writes}")
    return None


def is_free(folder: Path) -> bool:
    """Return whether a project may be begun in a folder: it is not there, or holds nothing but the
    history of a repository that begins there. Raises BadInput for one that cannot be read.
    """
    try:
        if not folder.exists():
            return not folder.is_symlink()
        return folder.is_dir() and all(path.name == ".git" for path in folder.iterdir())
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read: {error.strerror}") from error


def use_own_cache(folder: Path | None) -> None:
    """Have a project's run, and all that it starts, keep what it makes with the user: nothing of
    it lands in the repository.
    """
    if folder is not None:
        os.environ[CACHE_VARIABLE] = str(project_cache(os.environ))


def default_project_run(catalog: Catalog) -> RunConfig:
    """Return what a project's run is where nothing is named: all its sources, on the targets that
    its claims are for.
    """
    named = dict.fromkeys(
        target for claim in catalog.claims.values() for target in claim.hardware.targets
    )
    ours = checkout.default_run()
    sources = tuple(catalog.sources)
    return ours.model_copy(update={"sources": sources, "targets": tuple(named) or ours.targets})


def home(folder: Path | None) -> Path:
    """Return where results and reports are."""
    return checkout.ROOT if folder is None else folder


def keys_of(folder: Path | None) -> list[Path]:
    """Return the keys that reports are verified with where none is named: a project's own, beside
    those that the checkout trusts.
    """
    return [*project_keys(folder), *trusted_keys(checkout.ROOT)]


TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-project",
        help="Run the project's code without asking: it is its author's, and runs "
        "in a container without a network or, where there is no engine, as you.",
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
    for target in (each for each in plan.targets if each.provision.kind == "device"):
        where = CONTAINED if target.runner else "as you, in no container"
        for own in target.originals:
            described = catalog.sources[own.source].own_program(own.original)
            image = described.image if described else None
            place = CONTAINED if target.runner else "as you"
            place = f"in a container of {image}, without network" if image else place
            for line in (own.build, own.run, own.typed):
                if line is not None:
                    yield f"command {own.original} on {target.target} runs, {place}: {line.line}"
        for name in (each for each in target.comparisons if each in catalog.project.measures):
            code = catalog.workloads[name].code
            assert code is not None
            arms = catalog.comparisons[name].arms
            compiled = (catalog.variants[arm.variant].source for arm in arms)
            files = ", ".join([f"{code.file}:{code.function}", *filter(None, compiled)])
            yield f"{name} on {target.target} runs the project's own code {where}: {files}"

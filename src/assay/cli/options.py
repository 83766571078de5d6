"""Options that several commands take, each declared once; the reports and the project they name."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.isolation import DEVICE_PATH
from assay.base.progress import say
from assay.base.writable import CACHE_VARIABLE, project_cache
from assay.catalog.model import Catalog
from assay.catalog.project_folder import PROJECT_FILE, file_problem
from assay.cli import checkout
from assay.records.attestation import ATTESTATION, MANIFEST, VERDICTS
from assay.records.images import RuntimeWish
from assay.records.plan import Executor, Plan, RunConfig
from assay.shared.errors import ExitCode
from assay.verification.report_archive import SUFFIX
from assay.verification.trusted_keys import project_keys, trusted_keys


def require_report(path: Path) -> None:
    """Raise BadInput where nothing lies at a path, or a folder that was never a report."""
    try:
        path.lstat()
        names = {each.name for each in path.iterdir()} if path.is_dir() else {MANIFEST}
    except FileNotFoundError as error:
        says = f"no such report directory, nor an archive of one ({SUFFIX})"
        raise BadInput(f"{path}: {says}") from error
    except OSError:  # who opens it says why it cannot be looked at
        return
    if not names & {ATTESTATION, MANIFEST, VERDICTS}:
        raise BadInput(f"{path}: is not a report: it has no {MANIFEST}")


def from_here(place: Path) -> Path:
    """Return a path as it is typed in the current directory."""
    here = Path.cwd()
    return place.relative_to(here) if place.is_relative_to(here) else place


def command_group(name: str, says: str) -> typer.Typer:
    """Return a command that has others; by itself it shows its help."""
    group = typer.Typer(name=name, invoke_without_command=True, rich_markup_mode=None)

    @group.callback(help=says)
    def alone(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())
            raise typer.Exit(ExitCode.BAD_INPUT)

    return group


ReportArgument = Annotated[
    Path,
    typer.Argument(
        help="Report directory, or its archive.",
        metavar="REPORT_DIR",
    ),
]
ReportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Reports or archives; else those published here, or by the project.",
        metavar="REPORT_DIR",
    ),
]
KeyOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="Public key to trust, repeatable: one of them must have signed; else those of "
        "config/trusted_keys, which may always have signed an earlier report inside this one."
    ),
]
AlsoTrustedOption = Annotated[
    list[Path] | None, typer.Option(help="Public key to trust beside the repository's own.")
]
SigningKeyOption = Annotated[
    Path | None,
    typer.Option(
        help="Ed25519 private key; made on first use.",
        envvar="ASSAY_SIGNING_KEY",
        show_default="~/.config/assay/signing_key.pem",
    ),
]
RuntimeOption = Annotated[RuntimeWish | None, typer.Option(help="Container runtime, or host.")]
ExecutorOption = Annotated[Executor | None, typer.Option(help="Who places the jobs.")]
DevicePythonOption = Annotated[
    str | None,
    typer.Option(
        help="Python 3.11+ with PyTorch 2.11+ for the GPU side.", envvar="ASSAY_DEVICE_PYTHON"
    ),
]
DevicePathOption = Annotated[
    list[str] | None,
    typer.Option(
        DEVICE_PATH,
        metavar="DIR",
        help="Directory of packages that this Python looks into first, absolute; repeatable.",
    ),
]
CoresOption = Annotated[int | None, typer.Option(min=1, help="Local cores to use.")]

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
    """Return the project's folder, or None: this repository's sources. Raises BadInput."""
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
    """Return whether a folder is missing or empty but for ``.git``. Raises BadInput: unreadable."""
    try:
        if not folder.exists():
            return not folder.is_symlink()
        return folder.is_dir() and all(path.name == ".git" for path in folder.iterdir())
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read: {error.strerror}") from error


def use_own_cache(folder: Path | None) -> None:
    """Have a project's run keep what it makes with the user, not in the repository."""
    if folder is not None:
        os.environ[CACHE_VARIABLE] = str(project_cache(os.environ))


def default_project_run(catalog: Catalog) -> RunConfig:
    """Return a project's run where nothing is named: its sources, on its claims' targets."""
    named = dict.fromkeys(on for each in catalog.claims.values() for on in each.hardware.targets)
    ours = checkout.default_run()
    targets = tuple(named) or ours.targets
    return ours.model_copy(update={"sources": tuple(catalog.sources), "targets": targets})


def home(folder: Path | None) -> Path:
    """Return where results and reports are."""
    return checkout.ROOT if folder is None else folder


def keys_of(folder: Path | None) -> list[Path]:
    """Return the keys that are trusted where none is named: a project's, and the checkout's."""
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


def require_trust(catalog: Catalog, plan: Plan, *, trusted: bool) -> None:
    """Say what project code will run, and ask; raises BadInput where nobody says yes."""
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

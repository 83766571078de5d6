"""Options that several commands take, each declared once, and where reports that are named lie."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.isolation import DEVICE_PATH
from assay.base.progress import say
from assay.base.yaml_problems import suggest
from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout
from assay.records.attestation import ATTESTATION, MANIFEST, VERDICTS
from assay.records.images import RuntimeWish
from assay.records.plan import Executor
from assay.shared.errors import ExitCode
from assay.verification.report_archive import SUFFIX, report_name
from assay.verification.trust import reports_in

HOMES = ("reports", "reports/published", "projects/*/reports", "projects/*/reports/published")
"""Where this checkout has reports: those it made, those it publishes, and those of its projects."""
OF_PROJECT = ("reports", "reports/published")
"""Where a project has its own: they come first in its folder."""


def found_report(path: Path) -> Path:
    """Return where the report lies that is given by its name, as a directory or an archive; a name
    alone is looked for in the folders that hold reports.

    What is there by that path, and what no report here is called, stays as it is given.
    """
    if os.path.lexists(path):
        return path
    names = (path.name, f"{path.name}{SUFFIX}")
    folders = _folders() if path.name == str(path) else [path.parent]
    places = (folder / name for folder in folders for name in names)
    # Path.exists raises for too long a name.
    found = dict.fromkeys(from_here(each) for each in places if os.path.exists(each))  # noqa: PTH110
    first, *others = found or [path]
    if others:
        say(f"{path}: {first} is taken, not {', '.join(map(str, others))}")
    return first


def require_report(path: Path) -> None:
    """Raise BadInput where nothing lies at a path, with the report that may be meant, and for a
    folder that was never one: of a report somebody may have taken a part away, and that is a
    failed check.
    """
    try:
        path.lstat()
        names = {each.name for each in path.iterdir()} if path.is_dir() else {MANIFEST}
        if not names & {ATTESTATION, MANIFEST, VERDICTS}:
            raise BadInput(f"{path}: is not a report: it has no {MANIFEST}")
    except FileNotFoundError as error:
        folders = _folders() if path.name == str(path) else [path.parent]
        known = {report_name(each) for folder in folders for each in reports_in(folder)}
        meant = suggest(path.name.removesuffix(SUFFIX), sorted(known))
        says = f"no such report directory, nor an archive of one ({SUFFIX})"
        raise BadInput(f"{path}: {says}{meant}") from error
    except OSError:  # who opens it says why it cannot be looked at
        return


def _folders() -> Iterator[Path]:
    """Yield the folders that hold reports, in the order in which they are looked into."""
    here = Path.cwd()
    if (here / PROJECT_FILE).is_file():
        yield from (here / home for home in OF_PROJECT)
    for home in HOMES:
        yield from sorted(checkout.ROOT.glob(home))


def from_here(place: Path) -> Path:
    """Return a path as it is typed in the current directory."""
    here = Path.cwd()
    return place.relative_to(here) if place.is_relative_to(here) else place


def found_reports(paths: list[Path] | None) -> list[Path] | None:
    """Return where several reports lie, likewise."""
    return None if paths is None else [found_report(path) for path in paths]


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
        help="Report directory, its archive, or the name of a report in this checkout.",
        metavar="REPORT_DIR",
        callback=found_report,
    ),
]
ReportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Reports, archives or names; else those published here, or by the project.",
        metavar="REPORT_DIR",
        callback=found_reports,
    ),
]
KeyOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="Public key to trust, repeatable: one of them must have signed; else those of "
        "config/trusted_keys."
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

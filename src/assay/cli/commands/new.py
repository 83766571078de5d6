"""``./assay new``: write a project: an example, or kernels of others."""

import shlex
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.writable import require_folder_place
from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.options import is_free
from assay.importing.formats import BenchmarkFormat, imported_from
from assay.importing.imported import write_project
from assay.shared.counting import counted
from assay.shared.files import write_bytes

EXAMPLE = {
    PROJECT_FILE: PROJECT_FILE,
    "softmax.py": "softmax.py.txt",
    ".gitignore": "gitignore.txt",
}
"""File of the project to the file that it is a copy of, in assay/cli/example."""
SCHEMA = "workflow/schemas/project.schema.json"


def new(
    folder: Annotated[
        Path, typer.Argument(help="Folder to make; one that is there must be empty.")
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="What --from reads: files, and folders with such files."),
    ] = None,
    format_: Annotated[
        BenchmarkFormat | None,
        typer.Option(
            "--from",
            help="Make it of problems and solutions in this format; of torch, name the function "
            "and its baseline, each as FILE.py:FUNCTION.",
        ),
    ] = None,
    claimed: Annotated[
        str | None,
        typer.Option(
            help="With --from: the speed-up that is claimed, such as 1.8; of several solutions a "
            "CSV file with columns solution and speedup."
        ),
    ] = None,
) -> None:
    """Write a project of your own: an example, or kernels of others with their references."""
    require_folder_place(folder, folder / PROJECT_FILE)
    if not is_free(folder):
        raise BadInput(f"{folder}: exists already and is not an empty folder")
    schema = f"$schema={(checkout.ROOT / SCHEMA).as_uri()}"
    if format_ is None and (paths or claimed):
        raise BadInput("which format they are in is said by --from")
    if format_ is not None:
        imported = imported_from(format_, paths or (), claimed)
        written = write_project(folder, imported, f"# yaml-language-server: {schema}\n")
        for sentence in imported.left_out:
            say(f"left out: {sentence}")
        say(f"{folder}: {counted(len(imported.pairs), 'pair')}; {', '.join(written)}")
    else:
        for name, source in EXAMPLE.items():
            text = files("assay.cli").joinpath("example", source).read_text(encoding="utf-8")
            write_bytes(folder / name, text.replace("$schema=SCHEMA", schema).encode())
        say(f"{folder}: {', '.join(EXAMPLE)}")
    for when, command in (("next", "check"), ("then", "reproduce")):
        say(f"{when}: ./assay {command} --project {shlex.quote(str(folder))}")

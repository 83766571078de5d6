"""``./assay new``: a folder with an example of a project, which runs as it stands."""

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
from assay.cli.project_folder import is_free
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
) -> None:
    """Write an example of a project of your own."""
    if not is_free(folder):
        raise BadInput(f"{folder}: is there, and is no empty folder")
    require_folder_place(folder, folder / PROJECT_FILE)
    example = files("assay.cli").joinpath("example")
    for name, source in EXAMPLE.items():
        text = example.joinpath(source).read_text(encoding="utf-8")
        schema = (checkout.ROOT / SCHEMA).as_uri()
        text = text.replace("$schema=SCHEMA", f"$schema={schema}")
        write_bytes(folder / name, text.encode())
    say(f"{folder}: {', '.join(EXAMPLE)}")
    for when, command in (("next", "check"), ("then", "reproduce")):
        words = [checkout.command(), command, "--project", str(folder)]
        say(f"{when}: {shlex.join(words)}")

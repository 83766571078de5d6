"""The name of a machine as people give it to ssh, and a folder on it."""

import re
from dataclasses import dataclass

from assay.base.errors import BadInput

HOST = re.compile(r"(ssh://)?([\w.+-]+@)?(\[[0-9A-Fa-f:.%\w]+\]|[\w.:%-]+)")
"""A host or an alias, with a user, or as ssh://user@host:port."""
FOLDER = re.compile(r"[\w./+@,=-]+")
"""Letters of a folder that the workflow, whose files' names are patterns, takes as they are."""
DEFAULT_FOLDER = "assay-remote"


@dataclass(frozen=True)
class RemotePlace:
    """A folder on a machine: what ssh is given, and where a run lies there."""

    host: str
    folder: str
    """Absolute, or below the home of the account there."""
    options: tuple[str, ...] = ()
    """Further options of ssh, as ``Port=2222``."""


def remote_place(host: str, folder: str | None, options: tuple[str, ...], run: str) -> RemotePlace:
    """Return where a run lies on a machine. Raises BadInput for what ssh would take for an option,
    and for a folder that would not be one, or the home itself.
    """
    bare = host.removeprefix("ssh://").rpartition("@")[2]
    if not HOST.fullmatch(host) or host.startswith("-") or bare.startswith("-"):
        raise BadInput(
            f"'{host}' names no machine: give what ssh takes, as gpu, me@gpu or an alias"
        )
    for option in options:
        if "=" not in option or option.startswith("-") or not option.isprintable():
            raise BadInput(f"--ssh-option '{option}': give one as ssh_config has it, as Port=2222")
    return RemotePlace(host, _folder(folder, run), options)


def _folder(named: str | None, run: str) -> str:
    if named is None:
        return f"{DEFAULT_FOLDER}/{run}"
    folder = named.removeprefix("~/").rstrip("/")
    parts = folder.split("/")
    if not FOLDER.fullmatch(folder) or folder.startswith("-") or {"..", "."} & set(parts):
        raise BadInput(
            f"--folder {named}: name a folder of its own there, absolute or below your home, of "
            "letters, digits and . _ - + @ , = only"
        )
    return folder

"""The command as it is typed here, for lines that a person pastes. Standard library only."""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

TYPED = "ASSAY_TYPED"
"""Variable by which the launcher says how it was called."""
PLAIN = "./assay"
"""How every message names the command."""


def typed_command(called: str, script: Path) -> str:
    """Return what starts Assay again from this directory: its name on PATH, or its path.

    ``called``: the path by which it was started; ``script``: its file, where that is none.
    """
    name = Path(called).name
    if shutil.which(name) == called:
        return name
    return called if os.sep in called else str(script)


def command_here(environ: Mapping[str, str]) -> str:
    """Return the command as the launcher was called."""
    return environ.get(TYPED) or PLAIN


def as_typed(text: str) -> str:
    """Return a message in which the command stands as it is typed here."""
    command = command_here(os.environ)
    return text if command == PLAIN else text.replace(f"{PLAIN} ", f"{shlex.quote(command)} ")

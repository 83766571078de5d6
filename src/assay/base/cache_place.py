"""Where what can be made again is kept: in the checkout for its own runs, with a user for projects.

A project's run writes nothing into the checkout (or the installed package) whose code it runs: the
command names another folder, and every process that it starts is told of it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.writable import why_not_writable

VARIABLE = "ASSAY_CACHE"
"""Names the folder, for a command and all that it starts."""


def cache_folder(root: Path) -> Path:
    """Return where builds, images, wheels and the like are kept; ``root``: the repository."""
    return own_cache() or root / "results" / "cache"


def own_cache() -> Path | None:
    """Return the folder that stands in the place of the repository's, where there is one."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def project_cache(environ: Mapping[str, str]) -> Path:
    """Return where projects' runs keep such things: with their user, and never in a project, which
    may be a stranger's. Raises MissingEnvironment where nothing can be written there.
    """
    home = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/")) / ".cache"
    place = Path(environ.get(VARIABLE) or Path(home) / "assay").absolute()
    if (why := why_not_writable(place / "builds")) is not None:
        raise MissingEnvironment(
            f"what projects' runs make and use again is kept in {place}, and cannot be ({why}): "
            f"name another folder of yours with {VARIABLE}"
        )
    return place

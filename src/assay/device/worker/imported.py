"""The versions of what a process has imported, wherever that is installed."""

import contextlib
import importlib.metadata
import sys
from functools import cache

know_packages = cache(importlib.metadata.packages_distributions)
"""Which distributions each module may come from; what is installed is looked through once, by a
process that forks for all its children."""


def imported_packages() -> dict[str, str]:
    """Return the version of each distribution that a module of this process may come from, by its
    name.

    Several share a folder of one name (``nvidia``): of such each is told. What no distribution
    brought, a file of one's own, is not among them, nor what is broken and does not tell.
    """
    brought_by = know_packages()
    modules = {name.partition(".")[0] for name in list(sys.modules)}
    found = {}
    for name in sorted({each for module in modules for each in brought_by.get(module, ()) if each}):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError, KeyError):
            found[name] = importlib.metadata.version(name)
    return {name: version for name, version in found.items() if version}

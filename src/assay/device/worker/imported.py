"""The versions of what a process has imported, wherever that is installed."""

import importlib.metadata
import sys
from collections.abc import Mapping
from functools import cache


def know_packages() -> Mapping[str, list[str]]:
    """Return which distributions each module may come from; what is installed is looked through
    once for each search path, and by a process that forks for all its children.
    """
    return _packages_on(tuple(sys.path))


def imported_packages() -> dict[str, str]:
    """Return the version of each distribution that a module of this process may come from, by its
    name.

    Several share a folder of one name (``nvidia``): of such each is told. What no distribution
    brought, a file of one's own, is not among them.
    """
    brought_by = know_packages()
    modules = {name.partition(".")[0] for name in list(sys.modules)}
    names = {each for module in modules for each in brought_by.get(module, ()) if each}
    found = {name: _version(name) for name in sorted(names)}
    return {name: version for name, version in found.items() if version}


@cache
def _packages_on(_path: tuple[str, ...]) -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _version(name: str) -> str | None:
    """Return a distribution's version; None where it is broken and does not tell."""
    try:
        return importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, KeyError):
        return None

"""The versions of what a process has imported, wherever that is installed."""

import importlib.metadata
import sys


def imported_packages() -> dict[str, str]:
    """Return the version of each distribution that a module of this process may come from, by its
    name.

    Several share a folder of one name (``nvidia``): of such each is told. What no distribution
    brought, a file of one's own, is not among them.
    """
    brought_by = importlib.metadata.packages_distributions()
    modules = {name.partition(".")[0] for name in list(sys.modules)}
    names = {each for module in modules for each in brought_by.get(module, ()) if each}
    found = {name: _version(name) for name in sorted(names)}
    return {name: version for name, version in found.items() if version}


def _version(name: str) -> str | None:
    """Return a distribution's version; None where it is broken and does not tell."""
    try:
        return importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, KeyError):
        return None

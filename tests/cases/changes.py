"""Every change that a case can name: the public functions of ``tests/cases/mutations_*.py``."""

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("mutations_*.py"))


def _changes() -> dict[str, Callable[..., None]]:
    found: dict[str, Callable[..., None]] = {}
    for name in MODULES:
        module = importlib.import_module(f"tests.cases.{name}")
        for function in vars(module).values():
            if (
                inspect.isfunction(function)
                and function.__module__ == module.__name__
                and not function.__name__.startswith("_")
                and next(iter(inspect.signature(function).parameters), None) == "site"
            ):
                assert function.__name__ not in found, f"two changes are {function.__name__}"
                found[function.__name__] = function
    return found


CHANGES = _changes()
"""By name."""

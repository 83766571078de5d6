"""Modules of rivals, which somebody may have installed beside PyTorch."""

import importlib
from typing import Any

from assay.shared.errors import RivalMissing


def import_rival(module: str) -> Any:
    """Return a rival's module. Raises RivalMissing where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RivalMissing(f"{module} cannot be imported here: {error}") from error

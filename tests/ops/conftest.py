"""Tests of PyTorch's operators on a CPU; skipped, visibly, without PyTorch."""

import importlib.util
from pathlib import Path

import pytest

from tests.device.conftest import _NeedsTorch, single_thread  # noqa: F401


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector):
    """Stand in for modules that import PyTorch where there is none."""
    if module_path.parent == Path(__file__).parent and not importlib.util.find_spec("torch"):
        return _NeedsTorch.from_parent(parent, path=module_path)
    return None

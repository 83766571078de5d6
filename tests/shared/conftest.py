"""Facts of a launch are held against what the device side makes of it, which takes PyTorch."""

import importlib.util
from pathlib import Path

import pytest

from tests.device.conftest import _NeedsTorch


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector):
    """Stand in for modules that import PyTorch where there is none."""
    if module_path.name == "test_launch_facts.py" and not importlib.util.find_spec("torch"):
        return _NeedsTorch.from_parent(parent, path=module_path)
    return None

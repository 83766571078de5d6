"""Tests of the device side on a CPU. Modules that need PyTorch are skipped, visibly, without it."""

import importlib
import importlib.util
from pathlib import Path

import pytest

from tests.conftest import missing_part

WITHOUT_TORCH = {
    "test_telemetry",
    "test_forks",
    "test_side_by_side",
    "test_schedule",
    "test_program_runs",
    "test_locks",
    "test_phases",
}

RECORD_MODULES = (
    "cheats",
    "measurements",
    "operators",
    "originals",
    "platform",
    "profile",
    "sanitizer",
    "stopwatch",
)
"""Those of ``assay.records`` that hold what the device side writes."""


class _NeedsTorch(pytest.Module):
    """A module that cannot be imported here; collecting it reports the skip."""

    def collect(self):
        pytest.skip(str(missing_part("torch")), allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector):
    """Stand in for modules that import PyTorch where there is none."""
    here = Path(__file__).parent in module_path.parents
    if here and module_path.stem not in WITHOUT_TORCH and not importlib.util.find_spec("torch"):
        return _NeedsTorch.from_parent(parent, path=module_path)
    return None


@pytest.fixture(autouse=True, scope="session")
def single_thread():
    """OpenMP's threads do not survive a fork, and the zygote forks."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)


@pytest.fixture
def validated():
    """Check a JSON-like dict against a record model, strictly, as the host would."""
    pytest.importorskip("pydantic")
    import json

    modules = [importlib.import_module(f"assay.records.{name}") for name in RECORD_MODULES]

    def validate(model_name: str, value: dict):
        model = next(m for m in (getattr(x, model_name, None) for x in modules) if m is not None)
        return model.model_validate_json(json.dumps(value, allow_nan=False))

    return validate

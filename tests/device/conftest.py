"""Tests of the device side on a CPU."""

import importlib
import importlib.util

import pytest

RECORD_MODULES = ("measurements", "rivals", "originals", "platform", "side_evidence")
"""Those of ``assay.records`` that hold what the device side writes."""


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

"""Tests of PyTorch's operators on a CPU."""

from tests.device.conftest import single_thread  # noqa: F401

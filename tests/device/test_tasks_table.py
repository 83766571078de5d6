"""shared.job.TASKS: every entry leads to a function that takes a job and a GPU."""

import importlib
import inspect
import typing
from collections.abc import Sequence

import pytest

from assay.device.worker.locks import OpenGpu
from assay.shared.job import TASKS


@pytest.mark.parametrize("name", TASKS)
def test_the_task_leads_to_its_function(name):
    task = TASKS[name]
    function = getattr(importlib.import_module(task.full_module), task.function)
    first, second, *others = inspect.signature(function).parameters.values()
    hints = typing.get_type_hints(function)
    assert hints[first.name] == (Sequence[task.job] if task.together else task.job)
    assert hints[second.name] is OpenGpu
    assert all(other.default is not inspect.Parameter.empty for other in others)
    assert task.job.task == name

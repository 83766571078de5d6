"""failure_kinds: want of room by type and code, and by text only where a library has no more.

The texts are PyTorch's, Triton's and the CUDA libraries' own.
"""

import errno

import pytest
import torch

from assay.device.timing.cuda_graphs import GraphFailed
from assay.device.worker.failure_kinds import kind_of
from assay.shared.errors import BadJob, FailureKind, NoContext, NoDevice, NoRoom, Unsupported


class Accelerator(RuntimeError):
    """As torch.AcceleratorError, which carries the CUDA error's code."""

    def __init__(self, code):
        super().__init__("CUDA error: whatever it says")
        self.error_code = code


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (torch.OutOfMemoryError("any words"), FailureKind.NO_ROOM),
        (MemoryError(), FailureKind.NO_ROOM),
        (OSError(errno.ENOMEM, "any words"), FailureKind.NO_ROOM),
        (OSError(errno.ENOENT, "out of memory"), FailureKind.FAILED),
        (Accelerator(2), FailureKind.NO_ROOM),
        (Accelerator(700), FailureKind.FAILED),
        (NoRoom("any words"), FailureKind.NO_ROOM),
        (NoDevice("out of memory"), FailureKind.NO_DEVICE),
        (NoContext("any words"), FailureKind.NO_CONTEXT),
        (BadJob("any words"), FailureKind.BAD_JOB),
        (Unsupported("any words"), FailureKind.UNSUPPORTED),
        (GraphFailed("any words"), FailureKind.NOT_CAPTURED),
        (ValueError("out of memory"), FailureKind.FAILED),
        (RuntimeError("CUDA error: out of memory"), FailureKind.NO_ROOM),
        (RuntimeError("an illegal memory access was encountered"), FailureKind.FAILED),
    ],
)
def test_the_kind_of_an_error(error, kind):
    assert kind_of(error) is kind

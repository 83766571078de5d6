"""The first touch of CUDA in a process, and the few driver calls PyTorch does not offer."""

import ctypes
from functools import cache
from typing import Any

import torch

from assay.device.worker.failure_kinds import kind_of
from assay.device.worker.telemetry import Choice
from assay.shared.errors import FailureKind, NoContext, NoDevice

DEVICE = "cuda:0"
"""CUDA_VISIBLE_DEVICES names one GPU, so it is always the first."""
PERSISTING_L2 = ctypes.c_int(6)
"""CU_LIMIT_PERSISTING_L2_CACHE_SIZE of the driver."""


def open_cuda(choice: Choice) -> Any:
    """Initialise CUDA, return the device's properties. Raises NoDevice; NoContext for no room."""
    if torch.cuda._is_in_bad_fork():
        raise NoDevice("this process cannot use CUDA: its parent had used it before the fork")
    try:
        torch.cuda.init()
        torch.cuda.set_device(0)
        properties = torch.cuda.get_device_properties(0)
    except (AssertionError, RuntimeError) as error:
        lacks_room = kind_of(error) is FailureKind.NO_ROOM
        refusal = NoContext if lacks_room else NoDevice
        raise refusal(f"PyTorch cannot use {choice.product}: {error}") from error
    uuid = str(getattr(properties, "uuid", choice.uuid)).removeprefix("GPU-")
    if uuid != choice.uuid.removeprefix("GPU-"):
        raise NoDevice(f"CUDA opened GPU-{uuid}, not {choice.uuid}")
    return properties


@cache
def driver() -> ctypes.CDLL:
    """Return the driver's library. Raises OSError."""
    return ctypes.CDLL("libcuda.so.1")


def ask(name: str, *arguments: Any) -> None:
    """Call a function of the driver. Raises RuntimeError with its name and the code."""
    if code := getattr(driver(), name)(*arguments):
        raise RuntimeError(f"CUDA's driver refuses {name}: error {code}")


def persisting_bytes() -> int:
    """Return the bytes of L2 that this process sets aside for lines that stay."""
    found = ctypes.c_size_t(0)
    refused = driver().cuCtxGetLimit(ctypes.byref(found), PERSISTING_L2)
    return 0 if refused else found.value


def set_no_l2_aside() -> int:
    """Undo that an H200's driver sets L2 aside by itself; return the bytes that stay so."""
    driver().cuCtxSetLimit(PERSISTING_L2, ctypes.c_size_t(0))
    return persisting_bytes()

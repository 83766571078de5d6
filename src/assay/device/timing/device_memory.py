"""The device memory that arms take."""

from typing import Any

import torch

from assay.device.kernels.inputs import ROWS, Inputs
from assay.shared.attention_call import COLUMNS


class MemoryWatch:
    """What one arm takes beside its inputs: kept from binding it, and the most that its first
    launches held beyond that. Nothing is known where there is no GPU.
    """

    def __init__(self, device: str) -> None:
        self._cuda: Any = torch.cuda if device.startswith("cuda") else None
        self._begin = 0
        self._kept: dict[str, int] = {}
        self._most: dict[str, int] = {}

    def start(self) -> None:
        """Begin to count; what is allocated now is somebody else's."""
        if self._cuda is not None:
            self._begin = self._cuda.memory_allocated()
            self._cuda.reset_peak_memory_stats()

    def bound(self, arm: str) -> None:
        """Note what binding an arm left allocated since ``start``."""
        if self._cuda is not None:
            self._cuda.synchronize()  # an error of its packing is this arm's, and no other's
            self._kept[arm] = max(0, self._cuda.memory_allocated() - self._begin)

    def launched(self, arm: str) -> None:
        """Note the most that an arm's launches held since ``start``."""
        if self._cuda is not None:
            self._most[arm] = max(0, self._cuda.max_memory_allocated() - self._begin)

    def launch_bytes(self, arm: str) -> int | None:
        """Return the bytes beside the inputs; None where nothing was watched."""
        if arm not in self._kept or arm not in self._most:
            return None
        return self._kept[arm] + self._most[arm]


def input_bytes(inputs: Inputs) -> int:
    """Return the bytes of all tensors that a launch reads: of V in FP8 one of its orders."""
    read = [tensor for name, tensor in inputs.tensors.items() if name not in (COLUMNS, ROWS)]
    return sum(tensor.numel() * tensor.element_size() for tensor in read)

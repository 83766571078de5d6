"""Whether an output still changes once the time of its launch has ended, by work on another stream.

A copy that the multiprocessors make may wait until such work leaves them free, and then finds all
of it done. One to the host's pinned memory is the copy engine's, which waits for the stream alone.
"""

import random

import torch

from assay.device.kernels.inputs import Tensor
from assay.device.kernels.project_code import parts_of

PIECES = 4
PIECE_BYTES = 16_384


class LateWrites:
    """Pieces of one output, as they are where its time ends and somewhat later."""

    def __init__(self) -> None:
        size = (PIECES, PIECE_BYTES)
        self._early, self._late = (
            torch.empty(size, dtype=torch.uint8, pin_memory=torch.cuda.is_available())
            for _ in range(2)
        )
        self._random = random.SystemRandom()
        self._pieces: list[Tensor] = []

    def begin(self, output: Tensor) -> None:
        """Enqueue the first copy, of pieces that nobody foresees, right behind the launch."""
        memory = [found for part in parts_of(output) if (found := _memory(part)).numel()]
        self._pieces = []
        for number in range(PIECES if memory else 0):
            whole = memory[number % len(memory)]
            start = self._random.randrange(max(1, whole.numel() - PIECE_BYTES + 1))
            piece = whole[start : start + PIECE_BYTES]
            self._early[number, : piece.numel()].copy_(piece, non_blocking=True)
            self._pieces.append(piece)

    def end(self) -> None:
        """Enqueue the other, before another launch writes there."""
        for piece, late in zip(self._pieces, self._late, strict=False):
            late[: piece.numel()].copy_(piece, non_blocking=True)

    def seen(self) -> bool:
        """Return whether they differ; both must be done."""
        read = zip(self._pieces, self._early, self._late, strict=False)
        return any(
            not torch.equal(early[: piece.numel()], late[: piece.numel()])
            for piece, early, late in read
        )


def _memory(tensor: Tensor) -> Tensor:
    """Return the bytes from a tensor's first to its last element."""
    size, last = tensor.element_size(), 0
    if tensor.numel():
        last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    span = size * (last + 1) if tensor.numel() else 0
    flat: Tensor = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    start = tensor.storage_offset() * size
    return flat.set_(tensor.untyped_storage(), start, (span,), (1,))

"""The SHA-256 of an attention mask: of what it says, not of how it lies in memory."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from assay.ops.attention_arguments import SelectedBlocks
from assay.ops.checks import Tensor

SCHEMA = "assay/attention_mask/1"


def mask_digest(
    sizes: Sequence[int], lists: Mapping[str, tuple[SelectedBlocks | None, Tensor | None]]
) -> str:
    """Return the digest over ``sizes`` (queries, keys, block, both sides of the window) and, of
    each list by its name, the counts, the columns that they count, and those blocks' bits, as
    little-endian int32.

    Places of a list that hold no block are left out: the same blocks, the same digest.
    """
    hasher = hashlib.sha256()
    hasher.update(f"{SCHEMA} {' '.join(str(size) for size in sizes)}\n".encode())
    for name, (listed, bits) in lists.items():
        if listed is None or not bool(listed.counts.any()):
            continue
        hasher.update(f"{name} {list(listed.counts.shape)} {bits is not None}\n".encode())
        slots = torch.arange(listed.columns.shape[3], device=listed.counts.device)
        there = slots < listed.counts[..., None]
        hasher.update(_bytes(listed.counts))
        hasher.update(_bytes(listed.columns[there]))
        if bits is not None:  # some rows of blocks at a time: they may be many
            for row, chosen in zip(bits.flatten(0, 2), there.flatten(0, 2), strict=True):
                hasher.update(_bytes(row[chosen]))
    return hasher.hexdigest()


def _bytes(part: Any) -> bytes:
    written: bytes = part.cpu().contiguous().numpy().astype("<i4", copy=False).tobytes()
    return written

"""The SHA-256 of an attention mask: of the scores that it lets count, however it says them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from assay.ops.attention_scores import packed
from assay.ops.checks import Tensor

SCHEMA = "assay/attention_mask/2"


@dataclass(frozen=True)
class SeenBlocks:
    """Some of a mask's blocks, and which of their scores count."""

    places: Tensor
    """Int64 [blocks]: ((batch * heads + head) * rows + row) * columns + column."""
    bits: Tensor
    """Int32 [blocks, block, block / 32], the first key lowest; those past the mask's edge say
    nothing."""


def mask_digest(
    sizes: tuple[int, int, int], shape: tuple[int, int], seen: Iterator[SeenBlocks]
) -> str:
    """Return the digest over ``sizes`` (queries, keys, block), ``shape`` (batches and heads that
    have blocks of their own) and the blocks of which a score counts, by place: where they lie,
    which of them count whole, and the bits of the others, as little-endian integers.

    Neither the order of lists nor whether a window or bits hide a score makes a difference.
    """
    places, bits, whole = _by_place(sizes, seen)
    hasher = hashlib.sha256()
    hasher.update(f"{SCHEMA} {' '.join(map(str, (*sizes, *shape)))} {len(places)}\n".encode())
    hasher.update(_bytes(places, "<i8"))
    hasher.update(_bytes(whole, "u1"))
    hasher.update(_bytes(bits, "<i4"))
    return hasher.hexdigest()


def _by_place(
    sizes: tuple[int, int, int], seen: Iterator[SeenBlocks]
) -> tuple[Tensor, Tensor, Tensor]:
    """All places, ascending; bits of the blocks of which a part counts; and which count whole."""
    block = sizes[2]
    places, bits = [torch.zeros(0, dtype=torch.int64)], []
    whole = [torch.zeros(0, dtype=torch.bool)]
    for part in seen:
        inside = _inside(sizes, part.places.cpu())
        found = part.bits.cpu() & inside
        there = found.flatten(1).any(dim=1)
        complete = (found == inside).flatten(1).all(dim=1)
        places.append(part.places.cpu()[there])
        whole.append(complete[there])
        bits.append(found[there & ~complete])
    order = torch.argsort(torch.cat(places))
    chosen = torch.cat(whole)
    parts = torch.cat(bits) if bits else torch.zeros(0, block, dtype=torch.int32)
    number = torch.cumsum(~chosen, dim=0) - 1  # of a block among those of which a part counts
    return torch.cat(places)[order], parts[number[order][~chosen[order]]], chosen[order]


def _inside(sizes: tuple[int, int, int], places: Tensor) -> Tensor:
    """Bits of the scores that lie within queries and keys, of each block."""
    queries, keys, block = sizes
    rows, columns = -(-queries // block), -(-keys // block)
    within = torch.arange(block)
    query = (places // columns % rows)[:, None] * block + within
    key = (places % columns)[:, None] * block + within
    return packed((query < queries)[:, :, None] & (key < keys)[:, None, :])


def _bytes(part: Any, dtype: str) -> bytes:
    written: bytes = part.contiguous().numpy().astype(dtype, copy=False).tobytes()
    return written

"""Oracle of the load study on the CPU: the sums of all tile rows in float64. Pure numpy."""

import numpy as np
from numpy.typing import NDArray

TILE_COLS = 64
"""Columns of a tile."""


def tile_sums(a: NDArray[np.floating]) -> NDArray[np.float64]:
    """sums[j, i] = sum of a[i, 64 j : 64 j + 64] for a [m, k]; the last tile may be narrower."""
    m, k = a.shape
    tiles = -(-k // TILE_COLS)
    wide = np.zeros((m, tiles * TILE_COLS))
    wide[:, :k] = a
    sums: NDArray[np.float64] = wide.reshape(m, tiles, TILE_COLS).sum(axis=2).T
    return sums

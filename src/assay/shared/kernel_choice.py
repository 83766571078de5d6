"""Compiled kernels, and which is chosen for a problem. Pure, and nothing but the standard library.

Host and device share it: a choice is a mapping with the fields of
``assay.records.rivals.TuningChoice``, as JSON carries them to a Python without pydantic or PyYAML.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Block = tuple[int, int]
"""Rows and columns of one stored block."""


@dataclass(frozen=True)
class Kernel:
    """One compiled library and the one case it is for."""

    id: str
    operation: str
    arch: str
    """As nvcc writes it: sm_90a."""
    dtype: str
    """float16, bfloat16 or float8_e4m3."""
    block: Block
    """Of A, or of scores."""
    block_b: Block | None
    symbol: str
    path: str
    sha256: str
    head_dim: int | None = None


@dataclass(frozen=True)
class Problem:
    """The facts that a choice depends on, as far as the caller knows them."""

    target: str
    operation: str
    dtype: str
    block_rows: int
    block_cols: int
    """Shape of a stored block of A."""
    n: int
    """Columns of C."""
    blocks_per_row: float | None = None
    """Mean stored blocks a block row; None where nobody counted: then it decides nothing."""
    ragged: bool = False
    """Whether block rows differ in length; to find out, ``row_ptr`` must be read."""


def choose(choices: Iterable[Mapping[str, Any]], problem: Problem) -> str | None:
    """Return the variant chosen for ``problem``, or None where no choice fits.

    At most one choice fits a problem that is known in full (the catalog sees to it); of several
    that fit one of unknown ``blocks_per_row``, the first.
    """
    return next((str(choice["variant"]) for choice in choices if fits(choice, problem)), None)


def fits(choice: Mapping[str, Any], problem: Problem) -> bool:
    """Return whether a choice was made for problems like this one."""
    names = ("target", "operation", "dtype", "block_rows", "block_cols")
    shapes, blocks = choice["shapes"], problem.blocks_per_row
    return (
        all(choice[name] == getattr(problem, name) for name in names)
        and shapes["ragged"] in (None, problem.ragged)
        and _between(shapes["n_least"], problem.n, shapes["n_most"])
        and (blocks is None or _between(shapes["blocks_least"], blocks, shapes["blocks_most"]))
    )


def _between(least: float, value: float, most: float | None) -> bool:
    return least <= value and (most is None or value <= most)

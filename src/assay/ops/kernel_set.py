"""Compiled libraries and the calls they answer: by operation, element type, block shape and GPU."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.shared.bounded_json import parse_bounded
from assay.shared.kernel_choice import Block, Kernel, Problem, choose
from assay.shared.read_limits import MOST_DOCUMENT, whole_file_bytes

INDEX = "kernels.json"
SCHEMA = "assay/kernel_set/1"
COMMAND = "./assay lab kernels"
"""What makes a folder that ``load`` reads."""


@dataclass(frozen=True)
class Call:
    """The facts of a call that its kernel is chosen by; none of them asks the GPU to wait."""

    operation: str
    dtype: str
    block: Block
    block_b: Block | None
    n: int
    blocks_per_row: float | None
    """Stored blocks over block rows; None where the host does not know."""
    capability: tuple[int, int]
    """Compute capability of the GPU."""
    head_dim: int | None = None
    """Of attention."""

    def is_for(self, kernel: Kernel) -> bool:
        """Return whether the kernel computes this case on this GPU."""
        facts = attrgetter("operation", "dtype", "block", "block_b", "head_dim")
        return facts(kernel) == facts(self) and _runs(kernel.arch, self.capability)

    def problem(self, target: str) -> Problem:
        """Return the case as choices were made for it; of rows, only the mean length is known."""
        return Problem(target, self.operation, self.dtype, *self.block, self.n, self.blocks_per_row)


@dataclass(frozen=True)
class KernelSet:
    """The kernels of one folder, and which of them were chosen for what."""

    target: str
    kernels: tuple[Kernel, ...]
    choices: tuple[dict[str, Any], ...] = ()

    def find(self, call: Call) -> Kernel | None:
        """Return the kernel chosen for the case; where none was, the first that computes it."""
        fitting = [kernel for kernel in self.kernels if call.is_for(kernel)]
        chosen = choose(self.choices, call.problem(self.target)) if fitting else None
        first = next(iter(fitting), None)
        return next((kernel for kernel in fitting if kernel.id == chosen), first)


_loaded: list[KernelSet] = []


def load(folder: str | Path) -> KernelSet:
    """Offer the kernels of a folder that ``./assay lab kernels`` wrote; returns them.

    They come before those of earlier calls. No library is opened yet: the first call of an operator
    on a GPU does that, after it has checked the library's digest. Raises FileNotFoundError where
    the folder holds no index, ValueError where the index cannot be read.
    """
    index = Path(folder) / INDEX
    try:
        document = parse_bounded(whole_file_bytes(index, MOST_DOCUMENT))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{index}: there is none; {COMMAND} --out {folder} compiles the kernels"
        ) from None
    except ValueError as error:
        raise ValueError(f"{index}: cannot be read: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{index}: is not a {SCHEMA} document")
    try:
        loaded = KernelSet(
            target=document["target"],
            kernels=tuple(_kernel_of(entry, Path(folder)) for entry in document["kernels"]),
            choices=tuple(document["choices"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"{index}: lacks or misstates something: {error!r}") from error
    _loaded[:] = [loaded, *(earlier for earlier in _loaded if earlier != loaded)]
    return loaded


def _kernel_of(entry: dict[str, Any], folder: Path) -> Kernel:
    """Return a kernel by its entry in an index of ``folder``."""
    return Kernel(
        id=entry["variant"],
        operation=entry["operation"],
        arch=entry["arch"],
        dtype=entry["dtype"],
        block=_block(entry["block"]),
        block_b=None if entry["block_b"] is None else _block(entry["block_b"]),
        symbol=entry["symbol"],
        path=str((folder / entry["path"]).resolve()),
        sha256=entry["sha256"],
        head_dim=entry.get("head_dim"),
    )


@contextlib.contextmanager
def only(kernels: KernelSet) -> Iterator[None]:
    """Inside the ``with``, operators know these kernels and no others."""
    before = _loaded.copy()
    _loaded[:] = [kernels]
    try:
        yield
    finally:
        _loaded[:] = before


def find(call: Call) -> Kernel | None:
    """Return the kernel for a call from the set that was loaded last and has one, or None."""
    found = (kernels.find(call) for kernels in _loaded)
    return next((kernel for kernel in found if kernel), None)


def missing(call: Call) -> str:
    """Return why ``find`` found nothing, and what to do about it."""
    if not _loaded:
        return f"no kernels are loaded: call assay.ops.load on a folder that {COMMAND} wrote"
    case = f"{call.operation} in {call.dtype} with blocks of {_shape(call.block)}"
    case += f" and {_shape(call.block_b)}" if call.block_b else ""
    case += f" and head_dim {call.head_dim}" if call.head_dim else ""
    gpu = f"a GPU of compute capability {call.capability[0]}.{call.capability[1]}"
    known = sorted({_case(kernel) for kernels in _loaded for kernel in kernels.kernels})
    return f"no loaded kernel computes {case} on {gpu}; loaded: {'; '.join(known)}"


def _case(kernel: Kernel) -> str:
    blocks = _shape(kernel.block) + (f" and {_shape(kernel.block_b)}" if kernel.block_b else "")
    blocks += f" head_dim {kernel.head_dim}" if kernel.head_dim else ""
    return f"{kernel.operation} {kernel.dtype} {blocks} {kernel.arch}"


def _runs(arch: str, capability: tuple[int, int]) -> bool:
    """Return whether code runs there: machine code on the capability that it is compiled for, PTX
    (compute_89) on later ones, too.
    """
    form, _, number = arch.partition("_")
    here = capability[0] * 10 + capability[1]
    if form == "compute" and number.isdigit():
        return int(number) <= here
    return number.removesuffix("a") == str(here)  # PTX for 90a, too, is of no later one


def _shape(block: Block) -> str:
    return f"{block[0]} x {block[1]}"


def _block(value: Any) -> Block:
    rows, cols = value
    return int(rows), int(cols)

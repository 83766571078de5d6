"""An arm made ready: one call enqueues one launch."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.project_code import parts_of
from assay.device.kernels.sweep import Swept
from assay.shared.errors import RivalMissing
from assay.shared.specs import ArmSpec


def as_it_is(output: Tensor) -> Tensor:
    """Most outputs have the operation's shape."""
    return output


def nothing() -> None:
    """Most variants read the input tensors themselves and keep no copy."""


def spoil(output: Any) -> None:
    """Fill an output, or each of several, with NaN where it can hold one."""
    for part in parts_of(output):
        if part.is_floating_point():
            part.fill_(float("nan"))


@dataclass(frozen=True)
class Prepared:
    """A variant bound to its inputs, ready to be launched."""

    launch: Callable[[], Tensor]
    """Enqueue one launch on the current stream; returns the output tensor."""
    buffer: Tensor | None
    """The output, where it is the same memory in every launch; None where a library allocates."""
    refresh: Callable[[], None] = nothing
    """Repack private copies of the inputs after their values changed in place."""
    log_sum_exp: Tensor | None = None
    """[batch, heads, seq_q] in float32, written by each launch of our attention kernels."""
    rounds_scores: bool = False
    """Whether it keeps attention's scores in 16 bits, and its log-sum-exps lose as much."""

    arranged: Callable[[Tensor], Tensor] = as_it_is
    """Put what a launch returns into the output's shape, outside the timing, where a library keeps
    matrices in another one."""
    stranger: bool = False
    """Whether a stranger's code returns the output, which must then be a plain tensor."""
    swept: Swept | None = None
    """Of a library that was tuned on these inputs: what was tried, and what it runs."""

    def poison(self) -> None:
        """Fill a fixed output with NaN, so that an element that isn't written shows."""
        if self.buffer is not None:
            spoil(self.buffer)
        if self.log_sum_exp is not None:
            self.log_sum_exp.fill_(float("nan"))


Prepare = Callable[[ArmSpec, Inputs], Prepared]
"""Bind an arm to inputs."""


def import_rival(module: str) -> Any:
    """Return a rival's module. Raises RivalMissing where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RivalMissing(f"{module} cannot be imported here: {error}") from error

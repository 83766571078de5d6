"""Whether a stranger's code changed what measures it, in the process that both share.

Watched are the functions by which launches are timed, copied and compared, those of this package,
the clock, and what may run between others' calls: function modes of PyTorch, trace functions. What
changes something and puts it back before its own launch ends is not seen: docs/measuring.md.
"""

import builtins
import random
import sys
import time
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch

PACKAGES = ("assay.device.", "assay.shared.")
WATCHED: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("time", time, ("monotonic", "perf_counter", "perf_counter_ns", "time")),
    ("random", random, ("Random",)),
    ("builtins", builtins, ("abs", "float", "isinstance", "max", "min", "round", "sum", "type")),
    ("torch.cuda", torch.cuda, ("Event", "CUDAGraph", "Stream", "_sleep", "current_stream", "graph",
                                "stream", "synchronize")),
    ("torch.cuda.Event", torch.cuda.Event, ("elapsed_time", "query", "record", "synchronize")),
    ("torch.cuda.CUDAGraph", torch.cuda.CUDAGraph, ("replay",)),
    ("torch", torch, ("allclose", "cat", "empty", "equal", "isfinite", "isnan", "norm", "zeros")),
    ("torch.linalg", torch.linalg, ("norm", "vector_norm")),
    ("torch.Tensor", torch.Tensor, (
        "__sub__", "abs", "add_", "clone", "copy_", "cpu", "double", "equal", "fill_", "float",
        "item", "max", "mul_", "norm", "pow", "square", "sub", "sum", "to", "tolist", "zero_")),
)  # fmt: skip
"""(name, owner, what of it)."""


Entry = tuple[str, Mapping[str, Any], str]
"""A name in words, what holds it, and its key there."""


class HarnessGuard:
    """The harness as it is when this is made."""

    def __init__(self) -> None:
        self._kept = [(entry, entry[1].get(entry[2])) for entry in _watched()]
        self._between = _between()

    def changed(self) -> list[str]:
        """Return the names of what is another by now."""
        now = _between()
        others = [name for name, kept in self._between.items() if now[name] is not kept]
        return others + [
            name for (name, holder, key), kept in self._kept if holder.get(key) is not kept
        ]


def _between() -> dict[str, Any]:
    """Return what may run between others' calls."""
    modes = torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack()
    return {
        "PyTorch's function modes": int(modes),  # small numbers are one object each
        "the trace function": sys.gettrace(),
        "the profile function": sys.getprofile(),
    }


def _watched() -> Iterator[Entry]:
    for name, owner, parts in WATCHED:
        yield from ((f"{name}.{part}", vars(owner), part) for part in parts)
    for name, module in list(sys.modules.items()):
        if name.startswith(PACKAGES):
            yield from _of_module(name, module)


def _of_module(name: str, module: ModuleType) -> Iterator[Entry]:
    for part, value in list(vars(module).items()):
        if isinstance(value, FunctionType | type):
            yield f"{name}.{part}", vars(module), part
        if isinstance(value, type) and value.__module__ == name:
            for own, method in list(vars(value).items()):
                if isinstance(method, FunctionType | property):
                    yield f"{name}.{part}.{own}", vars(value), own


def is_plain(output: Any) -> bool:
    """Return whether an output is a tensor, and neither a subclass nor one with methods of its own,
    either of which may compute when it is read.
    """
    return type(output) in (torch.Tensor, torch.nn.Parameter) and not vars(output)


NAMED = 3


def changed_words(changed: list[str]) -> str:
    """Return what was changed, in words."""
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    return f"it changed what measures it: {', '.join(changed[:NAMED])}{more}"

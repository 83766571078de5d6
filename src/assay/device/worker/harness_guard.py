"""Whether a stranger's code changed what measures it, in the process that both share.

Watched are the functions by which outputs are copied and compared, those of this package, those of
PyTorch that a reference may call, what others' stopwatches are cheated by, and what may run between
others' calls: function modes of PyTorch, trace functions. Times are not Python's (``turn.c``).
"""

import builtins
import math
import operator
import random
import sys
import time
from collections.abc import Callable
from functools import partial
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
    ("torch.cuda.Event", torch.cuda.Event, ("elapsed_time",)),
    ("torch.cuda.CUDAGraph", torch.cuda.CUDAGraph, ("replay",)),
    ("torch.linalg", torch.linalg, ("norm", "vector_norm")),
    ("math", math, ("isfinite", "sqrt")),
)  # fmt: skip
"""(name, owner, what of it)."""


def _functions_of(module: ModuleType) -> tuple[str, ...]:
    """Return the names of a module's public functions, but for one that torch.compile replaces."""
    return tuple(
        name
        for name, value in vars(module).items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("_")
        and name != "manual_seed"
    )


FUNCTIONS = tuple(
    (each.__name__, each, _functions_of(each)) for each in (torch, torch.nn.functional)
)
LAYERS = tuple(each for each in vars(torch.nn).values() if isinstance(each, type))


SETTINGS: dict[str, Callable[[], object]] = {
    **{
        f"torch.backends.cudnn.{name}": partial(getattr, torch.backends.cudnn, name)
        for name in ("enabled", "benchmark", "deterministic", "allow_tf32")
    },
    **{
        f"torch.backends.cuda.{name}": getattr(torch.backends.cuda, name)
        for name in ("flash_sdp_enabled", "mem_efficient_sdp_enabled", "cudnn_sdp_enabled")
    },
    "torch.get_float32_matmul_precision": torch.get_float32_matmul_precision,
    "torch.are_deterministic_algorithms_enabled": torch.are_deterministic_algorithms_enabled,
}
"""What of PyTorch is there to be set, and changes a reference's speed in the same process."""


class HarnessGuard:
    """The harness as it is when this is made; ``told``: what must stay as it was said."""

    def __init__(self, *told: Any) -> None:
        self._told = [(each, repr(each)) for each in told]
        self._settings = _settings()
        self._kept = _watched()
        self._methods = frozenset(vars(torch.Tensor))
        self._seen = set[str]()

    def look(self) -> None:
        """Note what is another by now, even if it is put back before ``changed`` is called."""
        now = _watched()
        self._seen |= {name for name, kept in self._kept.items() if not _same(now.get(name), kept)}
        self._seen |= {f"torch.Tensor.{name}" for name in vars(torch.Tensor).keys() - self._methods}
        if any(repr(each) != said for each, said in self._told):
            self._seen.add("what is measured")

    def changed(self) -> list[str]:
        """Return the names of what is another by now, or was when somebody looked."""
        self.look()
        return sorted(self._seen)

    def set_anew(self) -> list[str]:
        """Return the names of PyTorch's settings that are others by now, which is no cheat."""
        now = _settings()
        return [name for name, value in self._settings.items() if now[name] != value]


def _settings() -> dict[str, object]:
    found: dict[str, object] = {}
    for name, read in SETTINGS.items():
        try:
            found[name] = read()
        except RuntimeError:  # PyTorch refuses where its older and newer names contradict
            found[name] = None
    return found


def _same(now: Any, kept: Any) -> bool:
    return len(now or ()) == len(kept) and all(map(operator.is_, now, kept))


def _parts(value: Any) -> tuple[Any, ...]:
    """Return what a function does, beside itself: its code may be changed in its place."""
    if isinstance(value, FunctionType):
        return value, value.__code__, value.__defaults__, value.__closure__
    if isinstance(value, property):
        return value, *_parts(value.fget)
    return (value,)


def _watched() -> dict[str, tuple[Any, ...]]:
    modes = torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack()
    found: dict[str, tuple[Any, ...]] = {
        "PyTorch's function modes": (int(modes),),  # small numbers are one object each
        "the trace function": (sys.gettrace(),),
        "the profile function": (sys.getprofile(),),
    }
    found["the default type"] = (torch.get_default_dtype(),)
    for layer in LAYERS:
        found[f"torch.nn.{layer.__name__}.forward"] = _parts(vars(layer).get("forward"))
    for name, owner, parts in (*FUNCTIONS, *WATCHED):
        found |= {f"{name}.{part}": _parts(vars(owner).get(part)) for part in parts}
    found |= {f"torch.Tensor.{part}": _parts(each) for part, each in vars(torch.Tensor).items()}
    for name, module in list(sys.modules.items()):
        if name.startswith(PACKAGES):
            found |= _of_module(name, module)
    return found


def _of_module(name: str, module: ModuleType) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for part, value in list(vars(module).items()):
        if isinstance(value, FunctionType | type | ModuleType):
            found[f"{name}.{part}"] = _parts(value)
        if isinstance(value, type) and value.__module__ == name:
            for own, method in list(vars(value).items()):
                if isinstance(method, FunctionType | property):
                    found[f"{name}.{part}.{own}"] = _parts(method)
    return found


def is_plain(output: Any) -> bool:
    """Return whether an output is a tensor, and neither a subclass nor one with methods of its own,
    either of which may compute when it is read. torch.compile leaves notes on its outputs.
    """
    own = any(hasattr(torch.Tensor, name) for name in getattr(output, "__dict__", ()))
    return type(output) in (torch.Tensor, torch.nn.Parameter) and not own


NAMED = 3


def changed_words(changed: list[str]) -> str:
    """Return what was changed, in words."""
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    return f"it changed what measures it: {', '.join(changed[:NAMED])}{more}"

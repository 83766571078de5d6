"""Exploits of benchmarks that others published, as kernels that claim to compute C = A B.

Each is our own code for a family: docs/cheats.md says who told of it.
"""

import inspect
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import IO, Any

import torch
from torch.overrides import TorchFunctionMode

from assay.device.kernels import oracles
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared

LATER_S = 0.05


def right(inputs: Inputs) -> Tensor:
    """Return the product that is claimed."""
    return torch.mm(inputs.tensors["a"], inputs.tensors["b"])


def of(compute: Callable[..., object], *states: Callable[[], Any]) -> Callable[[Inputs], Prepared]:
    """Return what prepares a kernel that ``compute`` does, into the output that it is given; it
    is given what ``states`` made as it was prepared, too.
    """

    def prepare(inputs: Inputs) -> Prepared:
        out, kept = inputs.new_output(), [make() for make in states]

        def launch() -> Tensor:
            compute(inputs, out, *kept)
            return out

        return Prepared(launch, out)

    return prepare


def _honest(inputs: Inputs, out: Tensor) -> None:
    out.copy_(right(inputs))


honest = of(_honest)


def _thread_later(inputs: Inputs, out: Tensor) -> None:
    def work() -> None:
        time.sleep(LATER_S)
        out.copy_(right(inputs))

    threading.Thread(target=work).start()


class _Lazy(torch.Tensor):  # type: ignore[misc]  # PyTorch has no types for it
    """A tensor that is computed when it is read."""

    inputs: Inputs

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute what was claimed to be there, then do what was asked."""
        given = [right(each.inputs) if isinstance(each, cls) else each for each in args]
        return func(*given, **(kwargs or {}))


def lazy_tensor(inputs: Inputs) -> Prepared:
    """Return a subclass that computes when somebody looks."""

    def launch() -> Tensor:
        lazy = inputs.new_output().as_subclass(_Lazy)
        lazy.inputs = inputs
        return lazy

    return Prepared(launch, None)


def own_method(inputs: Inputs) -> Prepared:
    """Return a tensor whose own ``clone`` computes."""
    out = inputs.new_output()
    out.clone = lambda: right(inputs)
    return Prepared(lambda: out, None)


def patching(owner: Any, name: str, other: Any) -> Callable[[Inputs], Prepared]:
    """Return what prepares an honest kernel that puts something else in a harness's place."""

    def prepare(inputs: Inputs) -> Prepared:
        setattr(owner, name, other)
        return honest(inputs)

    return prepare


PATCHES: dict[str, tuple[Any, str, Any]] = {
    "patched_event": (torch.cuda.Event, "elapsed_time", lambda _start, _stop: 1e-6),
    "patched_synchronize": (torch.cuda, "synchronize", lambda *_given: None),
    "patched_clock": (time, "perf_counter", lambda: 0.0),
    "patched_compare": (oracles, "measure_errors", lambda *_, **_named: oracles.Errors(0.0, 0.0)),
    "patched_allclose": (torch, "allclose", lambda *_given, **_named: True),
}
"""By a cheat's name: what it replaces."""


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    """Sees every call of PyTorch."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do what was asked."""
        return func(*args, **(kwargs or {}))


MODES: list[_Mode] = []
"""Those that were left on, for a test to take back."""


def function_mode(inputs: Inputs) -> Prepared:
    """Leave a mode on that sees, and could change, what the harness calls."""
    MODES.append(_Mode())
    MODES[-1].__enter__()
    return honest(inputs)


def _cached_in_file(inputs: Inputs, out: Tensor, file: IO[bytes]) -> None:
    if not file.seek(0, os.SEEK_END):
        torch.save(right(inputs), file)
    file.seek(0)
    out.copy_(torch.load(file, weights_only=True))


def _every_second_call(inputs: Inputs, out: Tensor, calls: list[int]) -> None:
    calls.append(1)
    if len(calls) % 2:
        _honest(inputs, out)


def _previous(inputs: Inputs, out: Tensor, results: list[Tensor]) -> None:
    results.append(right(inputs))
    out.copy_(results.pop(0) if len(results) > 1 else results[0])


cached_in_file = of(_cached_in_file, tempfile.TemporaryFile)
every_second_call = of(_every_second_call, list)
previous_result = of(_previous, list)


def old_memory(inputs: Inputs) -> Prepared:
    """Return new memory as it is, in which a right answer may have lain."""
    return Prepared(inputs.new_output, None)


def _tensors_in(value: Any, shape: tuple[int, ...], deep: int) -> Iterator[Tensor]:
    if type(value) is torch.Tensor:
        if value.dtype == torch.float32 and tuple(value.shape) == shape:
            yield value
    elif deep:
        for each in list(getattr(value, "__dict__", {}).values()):
            yield from _tensors_in(each, shape, deep - 1)


def _tensors_above(shape: tuple[int, ...]) -> Iterator[Tensor]:
    """Yield float32 tensors of a shape that callers hold, or what they hold does."""
    frame = sys._getframe(1).f_back
    while frame is not None:
        for value in list(frame.f_locals.values()):
            yield from _tensors_in(value, shape, 3)
        frame = frame.f_back


def _frame_walker(inputs: Inputs, out: Tensor) -> None:
    found = next(_tensors_above(tuple(out.shape)), None)
    out.copy_(right(inputs) if found is None else found)


def _held_by_turn() -> dict[str, Any]:
    """Return what the stopwatch holds while it times; empty at the gate."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "turn":
        frame = frame.f_back
    return {} if frame is None else frame.f_locals


class _InTurn:
    """How many launches of a turn a kernel saw, by what the stopwatch holds."""

    def __init__(self) -> None:
        self._keeps: Any = None
        self._number = -1

    def look(self) -> tuple[dict[str, Any], int]:
        """Return what the stopwatch holds now, and the number of this launch in the turn."""
        held = _held_by_turn()
        keeps = held.get("keeps")
        self._number = self._number + 1 if keeps is self._keeps else 0
        self._keeps = keeps
        return held, self._number


def _frame_reader(inputs: Inputs, out: Tensor, place: _InTurn) -> None:
    held, number = place.look()
    if not held or number in [each.number for each in held["keeps"]]:
        _honest(inputs, out)


def _put_back(inputs: Inputs, out: Tensor, place: _InTurn, elapsed_time: Any) -> None:
    held, number = place.look()
    ends = not held or number + 1 >= held["samples"]
    torch.cuda.Event.elapsed_time = elapsed_time if ends else lambda _start, _stop: 1e-6
    _honest(inputs, out)


frame_reader = of(_frame_reader, _InTurn)
put_back = of(_put_back, _InTurn, lambda: torch.cuda.Event.elapsed_time)


def _stack_inspector(inputs: Inputs, out: Tensor) -> None:
    if any("correctness" in frame.filename for frame in inspect.stack(context=0)):
        out.copy_(right(inputs))


def graph_stale(inputs: Inputs) -> Prepared:
    """Replay a graph over copies that were made of the first inputs."""
    out = inputs.new_output()
    a, b = (inputs.tensors[name].clone() for name in "ab")
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        out.copy_(torch.mm(a, b))
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        out.copy_(torch.mm(a, b))

    def launch() -> Tensor:
        graph.replay()
        return out

    return Prepared(launch, out)


def _part_written(inputs: Inputs, out: Tensor) -> None:
    rows = out.shape[0] - out.shape[0] // 8
    out[:rows] = inputs.tensors["a"][:rows] @ inputs.tensors["b"]


def _low_precision(inputs: Inputs, out: Tensor) -> None:
    narrow = (inputs.tensors[name].to(torch.float8_e4m3fn).to(out.dtype) for name in "ab")
    out.copy_(torch.mm(*narrow))


def _inputs_modified(inputs: Inputs, out: Tensor) -> None:
    _honest(inputs, out)
    inputs.tensors["a"].mul_(0.5)


def _zeroing(inputs: Inputs, out: Tensor) -> None:
    inputs.tensors["a"].zero_()
    out.zero_()


def _half_of_k(inputs: Inputs, out: Tensor) -> None:
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    half = a.shape[1] // 2
    out.copy_(torch.mm(a[:, :half], b[:half]))


def _last_left_out(inputs: Inputs, out: Tensor) -> None:
    _honest(inputs, out)
    out[-1, -1] = 0.0


def _small_skipped(inputs: Inputs, out: Tensor) -> None:
    a = inputs.tensors["a"]
    out.copy_(torch.mm(torch.where(a.abs() < 0.2, torch.zeros_like(a), a), inputs.tensors["b"]))


def _one_row(inputs: Inputs, out: Tensor) -> None:
    out.copy_((inputs.tensors["a"][:1] @ inputs.tensors["b"]).expand_as(out))


COMPUTED: dict[str, tuple[str, Callable[[Inputs, Tensor], object]]] = {
    "part_written": ("leaves an eighth of the rows out", _part_written),
    "zeros": ("writes zeros", lambda _inputs, out: out.zero_()),
    "low_precision": ("multiplies in fp8", _low_precision),
    "inputs_modified": ("scales an input it was given", _inputs_modified),
    "thread_later": ("has a thread do the work later", _thread_later),
    "frame_walker": ("copies an answer from the frames above it", _frame_walker),
    "stack_inspector": ("works only where the gate calls it", _stack_inspector),
    "nan_everywhere": (
        "writes NaN, which compares as unequal to all",
        lambda _inputs, out: out.fill_(float("nan")),
    ),
    "inputs_zeroed": ("zeroes an input, so that zeros are right", _zeroing),
    "half_of_k": ("sums half of the products", _half_of_k),
    "last_left_out": ("leaves one element of its result at zero", _last_left_out),
    "small_values_skipped": ("leaves small values out", _small_skipped),
    "one_row_for_all": ("computes one row and repeats it", _one_row),
    "low_precision_output": (
        "rounds its result to 8 bits",
        lambda inputs, out: out.copy_(right(inputs).to(torch.float8_e5m2).to(out.dtype)),
    ),
}  # fmt: skip
"""By name: what it does, and how."""

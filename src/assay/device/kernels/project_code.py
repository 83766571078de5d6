"""Functions of a project: found by the digests of its files, and held to what they must return.

A function is called with its problem's parameters and ``device``, and returns a mapping:

    inputs   a function of a seed: tensors by name, the same names and shapes for every seed
    oracle   a function of those tensors, by name: the right answer, in float32 or float64
    output   a function without arguments, where arms write into a tensor that they are given as
             ``out``: an empty one; absent where arms allocate
    ARM      for each arm that assay.yaml names: a function of the same tensors, which enqueues one
             launch on the current stream and returns its result

An answer, an output and a result are a tensor, or a tuple of as many tensors each.
"""

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import torch

from assay.device.worker.failure_kinds import kind_of
from assay.device.worker.harness_guard import is_plain
from assay.shared.errors import (
    FailureKind,
    KnownFailure,
    OutputRefused,
    RivalMissing,
    Unsupported,
)
from assay.shared.project_calls import RESERVED, project_place
from assay.shared.specs import CodeSpec, WorkloadSpec

Tensors = dict[str, Any]
"""By the names that the arms and the oracle call them."""
REFUSES = "refuses_output"
"""Attribute of an error by which a problem's own check says that an output is wrong."""


class BadCode(KnownFailure, RuntimeError):
    """What a project's function raised or returned, or its files, are not what they must be."""


@dataclass
class ProjectCase:
    """What a project's function made of one problem."""

    name: str
    draw: Callable[[int], Tensors]
    answer: Callable[..., Any]
    arms: dict[str, Callable[..., Any]]
    output: Callable[[], Any] | None
    shape: tuple[int, ...] | None = field(default=None, compare=False)
    """Of the answer, once it was asked for."""
    forms: tuple[str, ...] = field(default=(), compare=False)
    """Shape and kind of each part of the answer."""
    weights: tuple[float, ...] = field(default=(), compare=False)
    """Of the parts of a first answer that has several: each then weighs as much as any other."""

    @property
    def real(self) -> bool:
        """Return whether the answer, which was asked for, has no whole numbers or truth values."""
        return not any(form.startswith(("whole", "truth")) for form in self.forms)

    def inputs(self, seed: int) -> Tensors:
        """Return fresh tensors. Raises BadCode for anything else."""
        found = _call(f"inputs of {self.name}", self.draw, seed)
        if not isinstance(found, Mapping) or not found:
            raise BadCode(f"{self.name}: inputs({seed}) returned no tensors by name")
        for name, tensor in found.items():
            if not isinstance(tensor, torch.Tensor):
                raise BadCode(f"{self.name}: inputs({seed})['{name}'] is no tensor")
        return dict(found)

    def refill(self, tensors: Tensors, seed: int) -> None:
        """Put other contents into the same memory. Raises BadCode where they do not fit it."""
        put(tensors, self.inputs(seed), f"{self.name}: inputs({seed})")

    def right(self, tensors: Tensors) -> Any:
        """Return the right answer in float32, its parts joined. Raises BadCode for no tensor."""
        parts = parts_of(_call(f"oracle of {self.name}", self.answer, **tensors))
        if not parts:
            raise BadCode(f"{self.name}: oracle returned no tensor")
        if not self.weights and len(parts) > 1:
            finite = (_real(part).to(torch.float64).nan_to_num(0, 0, 0) for part in parts)
            norms = [part.norm().item() for part in finite]
            most = max(part.numel() for part in parts)
            self.weights = tuple(most**0.5 / norm if norm > 0 else 1.0 for norm in norms)
        self.forms = tuple(map(_form, parts))
        found = self.joined(parts).to(torch.float32)
        self.shape = tuple(found.shape)
        return found

    def joined(self, found: Any) -> Any:
        """Return a result as it is held against the answer: its parts, where it has several, as one
        vector in float32, each weighed. Raises BadCode for a result of another number of parts.
        """
        parts = parts_of(found)
        if not all(map(is_plain, parts)):
            raise BadCode(
                f"{self.name}: a result is no plain tensor: it may compute when it is read"
            )
        if len(parts) != (count := max(1, len(self.weights))):
            raise BadCode(f"{self.name}: a result has {len(parts)} tensors, the answer {count}")
        for number, (form, part) in enumerate(zip(self.forms, parts, strict=True)):
            if form != _form(part):
                kinds = f"{_form(part)}, and the answer's {form}"
                raise BadCode(f"{self.name}: tensor {number} of a result is {kinds}")
        if len(parts) == 1:
            return _real(parts[0])
        flat = [_real(part).reshape(-1).to(torch.float32) for part in parts]
        return torch.cat([part * weight for part, weight in zip(flat, self.weights, strict=True)])

    def new_output(self, tensors: Tensors, dtype: Any) -> Any:
        """Return an empty tensor for a compiled arm: as the function makes one, or of the answer's
        shape and ``dtype``, on the device of the inputs. Raises BadCode.
        """
        if self.output is not None:
            out = _call(f"output of {self.name}", self.output)
            if not isinstance(out, torch.Tensor) or not out.is_contiguous():
                raise BadCode(f"{self.name}: output() returned no contiguous tensor")
            return out
        shape = self.shape or tuple(self.right(tensors).shape)
        return torch.empty(shape, dtype=dtype, device=next(iter(tensors.values())).device)

    def launcher(self, arm: str, tensors: Tensors) -> tuple[Callable[[], Any], Any]:
        """Return what enqueues a launch of an arm, and the tensor that it writes, if it is given
        one.

        A launch raises RivalMissing where the arm finds a module missing, Unsupported where the arm
        says that it has no such thing (NotImplementedError), OutputRefused where an error says that
        a check refuses its output (REFUSES), BadCode for what else it raises.
        """
        if arm not in self.arms:
            raise BadCode(f"{self.name}: returned no arm '{arm}'; it has {', '.join(self.arms)}")
        function = self.arms[arm]
        if self.shape is None:
            self.right(tensors)
        out = None if self.output is None else _call(f"output of {self.name}", self.output)
        if self.output is not None and not parts_of(out):
            raise BadCode(f"{self.name}: output() returned no tensor")
        given = tensors if out is None else {**tensors, "out": out}

        def launch() -> Any:
            try:
                found = function(**given)
            except ModuleNotFoundError as error:
                raise RivalMissing(f"arm '{arm}': {error}") from error
            except NotImplementedError as error:
                raise Unsupported(f"arm '{arm}': {error}") from error
            except Exception as error:
                if getattr(error, REFUSES, False):
                    raise OutputRefused(str(error)) from error
                _blame(f"arm '{arm}' of {self.name}", function, error, given)
                raise
            if out is not None:
                return out
            if not parts_of(found):
                raise BadCode(f"{self.name}: arm '{arm}' returned no tensor")
            return found

        return launch, out


def parts_of(found: Any) -> tuple[Any, ...]:
    """Return the tensors of a result: itself, or all of a tuple or list; none of anything else."""
    parts = tuple(found) if isinstance(found, tuple | list) else (found,)
    return parts if all(isinstance(part, torch.Tensor) for part in parts) else ()


def _form(part: Any) -> str:
    """Return a tensor's shape and the kind of its elements, in words."""
    kind = "whole numbers"
    if part.dtype is torch.bool:
        kind = "truth values"
    elif part.is_complex():
        kind = "complex numbers"
    elif part.is_floating_point():
        kind = "real numbers"
    return f"{kind} {list(part.shape)}"


def _real(part: Any) -> Any:
    """Return a tensor as real numbers that differ where it does: complex numbers as pairs; whole
    ones scattered over -0.5 to 0.5, so that those that lie side by side are told apart.
    """
    if part.is_complex():
        return torch.view_as_real(part.resolve_conj())
    if part.is_floating_point():
        return part
    if part.dtype is torch.bool:
        return part.to(torch.float32)
    mixed = (part.to(torch.int64) * 0x9E3779B97F4A7C1 + 0x1234567) >> 20
    return (mixed & 0xFFFFFF).to(torch.float32) / 0x1000000 - 0.5


def put(into: Tensors, contents: Tensors, what: str) -> None:
    """Copy contents into tensors of the same names. Raises BadCode where they are others."""
    if into.keys() != contents.keys():
        raise BadCode(f"{what}: has {', '.join(contents)}, and had {', '.join(into)} before")
    for name, tensor in into.items():
        other = contents[name]
        if (tensor.shape, tensor.dtype) != (other.shape, other.dtype):
            raise BadCode(f"{what}: '{name}' has another shape or type than before")
        tensor.copy_(other)


def open_case(workload: WorkloadSpec, device: str) -> ProjectCase:
    """Return what the project's function makes of a problem, made once a process.

    Raises BadCode for files that are not those of the job, or a function that is not there, raises
    or returns something else.
    """
    if workload.code is None:
        raise BadCode(f"workload '{workload.id}' is no project's")
    parameters = tuple(sorted(workload.parameters.items()))
    key = (workload.code.file, workload.code.function, tuple(sorted(workload.code.files.items())))
    return _case(key, parameters, device)


@cache
def _case(
    key: tuple[str, str, tuple[tuple[str, str], ...]],
    parameters: tuple[tuple[str, Any], ...],
    device: str,
) -> ProjectCase:
    code = CodeSpec(key[0], key[1], dict(key[2]))
    name = f"{code.file}:{code.function}"
    function = getattr(_module(code), code.function, None)
    if not callable(function):
        raise BadCode(f"{code.file}: defines no function '{code.function}'")
    made = _call(name, function, **dict(parameters), device=device)
    if not isinstance(made, Mapping):
        raise BadCode(f"{name}: returned no mapping of inputs, oracle and arms")
    for part in ("inputs", "oracle"):
        if not callable(made.get(part)):
            raise BadCode(f"{name}: returned no function '{part}'")
    arms = {part: made[part] for part in made if part not in RESERVED and callable(made[part])}
    return ProjectCase(name, made["inputs"], made["oracle"], arms, made.get("output"))


def _module(code: CodeSpec) -> ModuleType:
    """Import the project's file, whose folder comes first where its imports are looked for."""
    folder = project_place()
    for name, sha256 in code.files.items():
        path = folder / name
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"
        if found != sha256:
            raise BadCode(f"{name}: is not the file that this job is about")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    path = folder / code.file
    name = f"assay_project_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadCode(f"{code.file}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _call(code.file, spec.loader.exec_module, module)
    return module


def _call(what: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Return what a function of the project returns. Raises BadCode for what it raises."""
    try:
        return function(*given, **named)
    except Exception as error:
        _blame(what, function, error, [*named, *("a seed" for _ in given)])
        raise


def _blame(what: str, function: Callable[..., Any], error: Exception, given: Iterable[str]) -> None:
    """Raise BadCode, one sentence with file and line, unless memory ran out or it is one already.

    An error that no frame of the project raised is that of the call itself.
    """
    if isinstance(error, KnownFailure) or kind_of(error) is not FailureKind.FAILED:
        return
    text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    ours = [(file, line) for path, line in frames if (file := _file_of_project(path))]
    if ours:
        file, line = ours[-1]
        raise BadCode(f"{what} ({file}, line {line}): {text}") from error
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or (begun := _file_of_project(code.co_filename)) is None:
        raise BadCode(f"{what}: {text}") from error
    called = f"is called with {', '.join(given) or 'nothing'}"
    raise BadCode(f"{what} ({begun}, line {code.co_firstlineno}) {called}: {text}") from error


def _file_of_project(path: str) -> str | None:
    """Return a file's name in the project; None for one that lies elsewhere."""
    folder = project_place()
    return str(Path(path).relative_to(folder)) if Path(path).is_relative_to(folder) else None

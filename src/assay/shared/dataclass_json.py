"""Dataclasses to JSON and back. The host writes what the device side reads and the other way round,
from one checkout: what a value may be, the records have checked.
"""

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def plain(value: Any) -> Any:
    """Return a dataclass as JSON has it: every field, in the order of declaration."""
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    return str(value) if isinstance(value, Path) else value


def build(declared: type[T], value: Any) -> T:
    """Return a value of parsed JSON as the declared type.

    Raises ValueError where a field is missing, unknown or of another form.
    """
    try:
        built: T = _build(declared, value)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"is no {declared.__name__}: {error}") from error
    return built


def _build(declared: Any, value: Any) -> Any:
    origin, of = get_origin(declared), get_args(declared)
    if origin in (Union, types.UnionType):  # X | None
        (one,) = (each for each in of if each is not type(None))
        return None if value is None else _build(one, value)
    if origin is tuple:
        each = [of[0]] * len(value) if of[-1] is Ellipsis else of
        return tuple(map(_build, each, value))
    if origin is dict:
        return {key: _build(of[1], member) for key, member in value.items()}
    if isinstance(declared, type) and dataclasses.is_dataclass(declared):
        hints = _hints(declared)
        return declared(**{key: _build(hints.get(key), member) for key, member in value.items()})
    if isinstance(declared, type) and issubclass(declared, Enum | Path | float):
        return declared(value)
    return value


@cache
def _hints(declared: Any) -> dict[str, Any]:
    return get_type_hints(declared)

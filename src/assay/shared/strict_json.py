"""Dataclasses from JSON and back, strictly: no key too many or too few, no type but the declared.

The declared types say everything: text, numbers, paths, literals, enumerations, ``X | None``,
tuples, mappings by name, and dataclasses of these.
"""

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from assay.shared.bounded_json import parse_bounded

T = TypeVar("T")


class Mismatch(ValueError):
    """A value is not of its declared type; the text names the place and says what is wrong."""


def parse(text: str) -> Any:
    """Return what JSON ``text`` says. Raises ValueError for what ``bounded_json`` refuses."""
    return parse_bounded(text.encode())


def read(declared: type[T], value: Any, place: str = "") -> T:
    """Return ``value`` (of parsed JSON) as the declared type.

    ``place`` is where the value stands, "protocol.samples" for one. Raises Mismatch.
    """
    result: T = _read(declared, value, place)
    return result


def plain(value: Any) -> Any:
    """Return a dataclass as JSON has it: every field, in the order of declaration."""
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    return str(value) if isinstance(value, Path) else value


def _read(declared: Any, value: Any, place: str) -> Any:
    for fits, reader in _READERS:
        if fits(declared):
            return reader(declared, value, place)
    return _scalar(declared, value, place)


def _literal(declared: Any, value: Any, place: str) -> Any:
    of = get_args(declared)
    if (type(value), value) not in [(type(each), each) for each in of]:
        raise _mismatch(place, f"one of {', '.join(map(repr, of))}", value)
    return value


def _optional(declared: Any, value: Any, place: str) -> Any:
    (one,) = (each for each in get_args(declared) if each is not type(None))
    return None if value is None else _read(one, value, place)


def _mapping(declared: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise _mismatch(place, "an object", value)
    of = get_args(declared)[1]
    return {key: _read(of, member, _below(place, key)) for key, member in value.items()}


def _enum(declared: type[Enum], value: Any, place: str) -> Any:
    values = [each.value for each in declared]
    if value not in values:
        raise _mismatch(place, f"one of {', '.join(values)}", value)
    return declared(value)


def _scalar(declared: Any, value: Any, place: str) -> Any:
    if declared is float and type(value) in (int, float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise _mismatch(place, "a finite number", value)
        return number
    words = {str: "text", int: "an integer", float: "a number", bool: "true or false"}
    if declared is Path:
        if not isinstance(value, str) or not value:
            raise _mismatch(place, "a path", value)
        return Path(value)
    if type(value) is not declared:
        raise _mismatch(place, words[declared], value)
    return value


def _tuple(declared: Any, value: Any, place: str) -> tuple[Any, ...]:
    of = get_args(declared)
    if not isinstance(value, list):
        raise _mismatch(place, "a list", value)
    members = [of[0]] * len(value) if of[-1] is Ellipsis else list(of)
    if len(members) != len(value):
        raise _mismatch(place, f"a list of {len(members)}", value)
    pairs = zip(members, value, strict=True)
    return tuple(_read(each, member, f"{place}[{n}]") for n, (each, member) in enumerate(pairs))


def _dataclass(declared: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise _mismatch(place, "an object", value)
    hints = _fields(declared)
    for key in value:
        if key not in hints:
            raise Mismatch(_at(place, f"has no '{key}'; its keys are {', '.join(hints)}"))
    for key in hints:
        if key not in value:
            raise Mismatch(_at(place, f"lacks '{key}'"))
    read_fields = {key: _read(hint, value[key], _below(place, key)) for key, hint in hints.items()}
    try:
        return declared(**read_fields)
    except Mismatch:
        raise
    except ValueError as error:  # what the class itself demands of its fields together
        raise Mismatch(_at(place, str(error))) from error


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Any, str], Any]], ...] = (
    (lambda declared: declared is Any, lambda declared, value, place: value),
    (lambda declared: get_origin(declared) is Literal, _literal),
    (lambda declared: get_origin(declared) in (Union, types.UnionType), _optional),
    (lambda declared: get_origin(declared) is tuple, _tuple),
    (lambda declared: get_origin(declared) is dict, _mapping),
    (lambda declared: isinstance(declared, type) and issubclass(declared, Enum), _enum),
    (dataclasses.is_dataclass, _dataclass),
)
"""Which types are read by what; all others are scalars."""


@cache
def _fields(declared: Any) -> dict[str, Any]:
    hints = get_type_hints(declared)
    return {field.name: hints[field.name] for field in dataclasses.fields(declared)}


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _at(place: str, words: str) -> str:
    return f"{place}: {words}" if place else words


def _mismatch(place: str, wanted: str, value: Any) -> Mismatch:
    shown = repr(value)
    return Mismatch(_at(place, f"must be {wanted}, is {shown[:60]}{'...' * (len(shown) > 60)}"))

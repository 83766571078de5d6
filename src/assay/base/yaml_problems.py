"""Everything that is wrong with a YAML file, at once: each with its line, and what may be meant."""

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import islice
from operator import getitem
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.base.errors import BadInput
from assay.base.io import plain_words, read_text
from assay.base.printable import with_short_names
from assay.base.strict_yaml import YamlPath, YamlPlaces, parse_yaml_with_places
from assay.records.base import Record
from assay.shared.counting import counted
from assay.shared.read_limits import Unreadable

R = TypeVar("R", bound=Record)

MOST_TOLD = 50
"""Problems of one file that are told; who has more begins with these."""
FEW_KNOWN = 8
"""Names of which all are told where none is like what was typed."""
MOST_KNOWN = 2000
"""Names of which one may be meant: to compare with each takes a tenth of a millisecond."""

MUST_BE = {
    "string": "a text", "model": "a mapping", "dict": "a mapping", "tuple": "a list",
    "int": "a whole number", "float": "a number", "bool": "true or false",
}  # fmt: skip
"""What a value must be, by the first word of the type of error; several may stand at one place."""


@dataclass(frozen=True, order=True)
class YamlProblem:
    """One thing that is wrong."""

    line: int
    says: str


class YamlProblems(BadInput):
    """A file that is wrong, in one place or several; its text has a line for each."""

    def __init__(self, path: Path, problems: Iterable[YamlProblem]) -> None:
        self.problems = tuple(sorted(dict.fromkeys(problems)))
        told = first_told([f"line {each.line}: {each.says}" for each in self.problems])
        many = [f"{path}: {counted(len(self.problems), 'problem')}", *told]
        super().__init__(
            "\n  ".join(many) if len(told) > 1 else f"{path}: {told[0]}", code="record"
        )


def first_told(problems: Sequence[object]) -> list[str]:
    """Return a line on each problem; of very many the first ones, and how many more there are."""
    lines, more = list(map(str, problems[:MOST_TOLD])), len(problems) - MOST_TOLD
    return [*lines, f"and {more} more"] if more > 0 else lines


@dataclass(frozen=True)
class PlacedYaml:
    """A document with the places of its values."""

    path: Path
    value: Any
    places: YamlPlaces

    def part(self, at: YamlPath) -> Any:
        """Return the value at a path."""
        return reduce(getitem, at, self.value)

    def problem(self, at: YamlPath, says: str) -> YamlProblem:
        """Return what is wrong at a path."""
        return YamlProblem(self.places.line(at), says)


def read_placed_yaml(path: Path) -> PlacedYaml:
    """Read a YAML file with the places of its values. Raises BadInput for what is no YAML."""
    text = read_text(path)
    try:
        value, places = parse_yaml_with_places(text)
    except Unreadable as error:
        raise BadInput(f"{path}: {error}", code=error.code) from error
    return PlacedYaml(path, value, places)


def read_part(
    model: type[R], value: Any, document: PlacedYaml, at: YamlPath, called: str = ""
) -> tuple[R | None, list[YamlProblem]]:
    """Return a part ``called`` so as a record, by ``value``, or all that is wrong with it."""
    try:
        return model.model_validate_json(json.dumps(value)), []
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=True, include_input=False)
        return None, list(_told(model, value, document, at, called, errors))


def beside(told: Iterable[YamlProblem], more: Iterable[YamlProblem]) -> Iterator[YamlProblem]:
    """Yield ``more`` without what stands where something is told of already."""
    lines = {each.line for each in told}
    return (each for each in more if each.line not in lines)


def meant_by(name: str, known: Iterable[str]) -> str | None:
    """Return the name that is likely meant by one that is none; None where none is like it."""
    names = {each.lower(): each for each in islice(known, MOST_KNOWN)}
    typed = name.lower()
    found = difflib.get_close_matches(typed, names, 1, 0.6)
    if not found:
        # A prefix or an ending is a likely slip, too ("tol" for "relative_tolerance" is none).
        found = [each for each in names if each.startswith(typed) or typed.startswith(each)][:1]
    return names[found[0]] if found else None


def suggest(name: str, known: Iterable[str]) -> str:
    """Return what may be meant by a name that is none, or the few there are, for a sentence."""
    names = list(islice(known, MOST_KNOWN))
    found = meant_by(name, names)
    if found is not None:
        return f": did you mean '{found}'?"
    return f"; known: {', '.join(sorted(names))}" if 0 < len(names) <= FEW_KNOWN else ""


def _told(
    model: type[Record],
    value: Any,
    document: PlacedYaml,
    at: YamlPath,
    called: str,
    errors: list[ErrorDetails],
) -> Iterator[YamlProblem]:
    found = [_message(model, value, e, errors) for e in errors if not _is_said_below(e, errors)]
    for path in dict.fromkeys(path for path, _, _ in found):
        here = [(says, of_type) for where, says, of_type in found if where == path]
        sentences = [says for says, of_type in here if not of_type]
        if not sentences and not any(each[: len(path)] == path != each for each, _, _ in found):
            # Each of several kinds that may stand here says so: one sentence has them all.
            first, *others = dict.fromkeys(says for says, _ in here)
            sentences = [" or ".join([first, *(each.removeprefix("must be ") for each in others)])]
            if first == f"must be {MUST_BE['string']}" and not others:
                is_number = isinstance(reduce(getitem, path, value), int | float)
                sentences = [f"{first}: put it into quotes" if is_number else first]
        where = ".".join(map(str, path if called else (*at, *path)))
        for says in sentences:
            words = ": ".join(filter(None, (called, where, says[:1].lower() + says[1:])))
            yield document.problem((*at, *path), with_short_names(words))


def _message(
    model: type[Record], value: Any, error: ErrorDetails, errors: list[ErrorDetails]
) -> tuple[YamlPath, str, bool]:
    """Return where something is wrong, what, and whether a value of another kind was expected."""
    path, missing = _place(value, error["loc"])
    says = plain_words(error)
    kind, _, rest = error["type"].partition("_")
    if kind in MUST_BE and rest in ("type", "parsing", "from_float"):
        return path, f"must be {MUST_BE[kind]}", True
    if error["type"] == "extra_forbidden":
        lacking = [str(each["loc"][-1]) for each in errors if each["type"] == "missing"]
        likely = meant_by(str(path[-1]), lacking)
        known = [likely] if likely else known_keys(model)
        # A key may be one of another part, and stand at the wrong place.
        says += " here" if path[-1] in known else suggest(str(path[-1]), known)
    elif error["type"] == "missing":
        says = f"'{missing}' is missing"
    elif error["type"] == "union_tag_invalid":
        path = (*path, error["ctx"]["discriminator"].strip("'"))
    return path, says, False


def _is_said_below(error: ErrorDetails, errors: list[ErrorDetails]) -> bool:
    """Return whether an error is about a list alone whose entry is wrong: it is then left empty."""
    loc = error["loc"]
    return error["type"] == "too_short" and any(
        each["loc"][: len(loc)] == loc and len(each["loc"]) > len(loc) for each in errors
    )


def _place(value: Any, loc: tuple[int | str, ...]) -> tuple[YamlPath, str]:
    """Return the part of an error's place that the document has, and the last name it lacks."""
    path: list[int | str] = []
    missing = ""
    for number, name in enumerate(loc):
        of_kind = isinstance(value, dict) and value.get("kind") == name and number + 1 < len(loc)
        try:
            if of_kind:  # its alternative, which a key may be called like
                raise KeyError(name)
            value = value[name]
        except (KeyError, IndexError, TypeError):
            missing = str(name)
        else:
            path.append(name)
            missing = ""
    return tuple(path), missing


@cache
def known_keys(model: type[Record]) -> tuple[str, ...]:
    """Return the keys that may stand anywhere in a record's document."""
    schema = model.model_json_schema(by_alias=True)
    parts = (schema, *schema.get("$defs", {}).values())
    return tuple(dict.fromkeys(key for part in parts for key in part.get("properties", {})))

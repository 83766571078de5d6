"""Documents of claims, read entry by entry, and figures as people write them: with their unit, and
the digits that say how exact they are.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from assay.base.io import plain_words
from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import PlacedYaml, YamlProblem, beside, read_part, suggest
from assay.records.base import Record
from assay.records.claims import MOST_DECIMALS
from assay.records.units import no_unit, unit_as_written

R = TypeVar("R", bound=Record)

FIGURE = re.compile(
    r"\s*(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\.)"
    r"\s*(?P<unit>[^0-9\s.,;:~<>+-][^0-9]{0,30}?)?\s*"
)
"""Thousands may be parted by commas, and by nothing else."""
HOW_ELSE = (
    (r"~|≈|about\b|ca\b|circa\b", "leave the tilde out, and add about: true"),
    (r"[<>≤≥]|at (least|most)\b|over\b|under\b|up to\b",
     "a bound has relation: at_least or at_most beside it"),
    (r".*[0-9]\D*(-|\u2013|\u2014|\bto\b)\s*[0-9]",
     "a range has its lower end here, and beside it the upper one, as to: 600, and relation: "
     "at_least"),
)  # fmt: skip
"""How a figure that begins in one way or another is written here."""
BOUNDS = ("at_least", "at_most")


def last_digit(typed: str) -> float:
    """Return one unit of the last digit of a number as it is typed: 0.01 for 3.64, 1 for 610.

    Raises ValueError for what is no number.
    """
    return float(f"1e{_exponent(typed)}")


def decimals(typed: str) -> int:
    """Return how many digits stand behind the point of a number as it is typed: 1 for 3.0; no more
    than ``MOST_DECIMALS``. Raises ValueError for what is no number.
    """
    return min(max(0, -_exponent(typed)), MOST_DECIMALS)


def _exponent(typed: str) -> int:
    try:
        exponent = Decimal(typed.strip()).as_tuple().exponent
    except InvalidOperation as error:
        raise ValueError(f"'{typed}' is no number") from error
    if not isinstance(exponent, int):
        raise ValueError(f"'{typed}' is no finite number")
    return exponent


def number_problem(typed: str) -> str | None:
    """Return why a number as it is typed is none to compute with; None where it is one."""
    try:
        exponent = _exponent(typed)
    except ValueError:
        return "is no decimal number"
    number, digit = abs(float(typed)), float(f"1e{exponent}")
    if not math.isfinite(max(number, digit)) or not digit or (not number and Decimal(typed)):
        return "is beyond the numbers that can be computed with"
    return None


def write_out(document: PlacedYaml, at: YamlPath) -> tuple[dict[str, Any], list[YamlProblem]]:
    """Return a claim with its value as a number, its unit as records have it, and its resolution.

    ``at``: where the claim stands. What is given stays; what follows from the digits as they are
    typed is added. The second part of the result is what is wrong.
    """
    claim = dict(document.part(at))
    problems: list[YamlProblem] = []
    typed = document.places.typed.get((*at, "value"), "")
    if isinstance(claim.get("value"), str):
        found = FIGURE.fullmatch(claim["value"])
        if found is None:
            hints = (says for how, says in HOW_ELSE if re.match(how, claim["value"].strip(), re.I))
            says = ": ".join(["is no figure such as '610 TFLOP/s'", *islice(hints, 1)])
            return claim, [document.problem((*at, "value"), _not_taken(claim["value"], says))]
        typed = found["number"].replace(",", "")
        if (problem := number_problem(typed)) is not None:
            return claim, [document.problem((*at, "value"), _not_taken(typed, problem))]
        claim["value"] = float(typed)
        if found["unit"]:
            if "unit" in claim:
                says = f"unit: value has one already: '{found['unit']}'"
                problems.append(document.problem((*at, "unit"), says))
            claim["unit"] = found["unit"]
    if isinstance(claim.get("unit"), str):
        unit = unit_as_written(claim["unit"])
        if unit is None:
            where = (*at, "unit") if "unit" in document.part(at) else (*at, "value")
            problems.append(document.problem(where, no_unit(claim["unit"])))
            return claim, problems
        claim["unit"] = unit.value
        value, bound = claim.get("value"), claim.get("relation") in BOUNDS
        if isinstance(value, int | float) and not isinstance(value, bool):
            if (problem := number_problem(typed)) is not None:
                problems.append(document.problem((*at, "value"), _not_taken(typed, problem)))
                return claim, problems
            if "resolution" not in claim:
                claim["resolution"] = 0.0 if unit.facts.exact or bound else last_digit(typed)
            if bound and claim["resolution"] == 0:
                claim.setdefault("decimals", decimals(typed))
    return claim, problems


def _not_taken(typed: str, problem: str) -> str:
    return f"value: '{typed}' {problem}"


def read_document(
    model: type[R], parts: dict[str, type[Record]], document: PlacedYaml
) -> tuple[R | None, list[YamlProblem]]:
    """Return a document with claims, or all that is wrong with it.

    ``parts``: its lists, whose entries are read one by one: of a list pydantic tells one error.
    """
    if not isinstance(document.value, dict):
        return None, [YamlProblem(1, "is no mapping: schema, sources, claims")]
    problems: list[YamlProblem] = []
    written = dict(document.value)
    for name, entry_model in parts.items():
        entries = written.get(name)
        if not isinstance(entries, list):
            continue
        written[name] = list(entries)
        for number, entry in enumerate(entries):
            at: YamlPath = (name, number)
            called = f"{name}[{number}]"
            if isinstance(entry, dict) and isinstance(entry.get("id"), str):
                called = f"{name.removesuffix('s')} '{entry['id']}'"
            found: list[YamlProblem] = []
            if name == "claims" and isinstance(entry, dict):
                written[name][number], found = write_out(document, at)
                found = [YamlProblem(each.line, f"{called}: {each.says}") for each in found]
            _, wrong = read_part(entry_model, written[name][number], document, at, called)
            problems += [*found, *beside(found, wrong)]
    if not problems:
        with suppress(ValidationError):
            return model.model_validate_json(json.dumps(written)), []
        problems = read_part(model, written, document, ())[1]
    return None, problems


@dataclass
class ProjectReading:
    """One document, what was found wrong with it, and the lines of its entries."""

    folder: Path
    document: PlacedYaml
    sources: tuple[str, ...] = ()
    problems: list[YamlProblem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def require_ids(self, entries: Mapping[str, tuple[Any, ...]]) -> None:
        """Note where entries stand, and ids given twice; claims and audits share theirs."""
        kinds = (("sources",), ("targets",), ("measurements", "commands"), ("claims", "audits"))
        for names in kinds:
            seen: dict[str, int] = {}
            for name in names:
                for at, entry in placed(name, entries[name]):
                    line = self.document.places.line(at)
                    if entry.id in seen:
                        says = f"id '{entry.id}' is given twice (see line {seen[entry.id]})"
                        self.refuse(at, says)
                    seen.setdefault(entry.id, line)
                    self.lines.setdefault(entry.id, line)

    def note_lines(self, of: str, at: YamlPath, parts: Mapping[str, YamlPath]) -> None:
        """Note where parts of an entry stand, as ``of.part``."""
        for part, below in parts.items():
            self.lines[f"{of}.{part}"] = self.document.places.line((*at, *below))

    def refuse(self, at: YamlPath, says: str) -> None:
        """Note what is wrong at a place."""
        self.problems.append(self.document.problem(at, says))

    def knows(self, at: YamlPath, says: str, name: str, known: Collection[str]) -> bool:
        """Return whether a name is known; notes one that is not, and what may be meant by it."""
        if name not in known:
            self.refuse(at, f"{says} '{name}'{suggest(name, sorted(known))}")
        return name in known

    def made(self, model: type[R], at: YamlPath, called: str, content: dict[str, Any]) -> R | None:
        """Return a record of ``content``, or None where it does not fit; notes why not."""
        try:
            return model.model_validate(content)
        except ValidationError as error:
            for each in error.errors(include_url=False, include_input=False):
                message = plain_words(each)
                where = ".".join(str(part) for part in each["loc"] if part != "evaluation")
                place = f"{where}: " if where else ""
                self.refuse(at, f"{called}: {place}{message[:1].lower()}{message[1:]}")
            return None

    def source(self, at: YamlPath, called: str, named: str | None) -> str | None:
        """Return the source that an entry is of; None where that is not told, or is none."""
        if named is None and len(self.sources) == 1:
            return self.sources[0]
        if named is None:
            listed = ", ".join(sorted(self.sources))
            self.refuse(at, f"{called}: says not which source it is of: {listed}")
            return None
        there = self.knows((*at, "source"), f"{called}: there is no source", named, self.sources)
        return named if there else None


def placed(name: str, entries: tuple[R, ...]) -> Iterator[tuple[YamlPath, R]]:
    """Yield the entries of a list with their places in the document."""
    for number, entry in enumerate(entries):
        yield (name, number), entry

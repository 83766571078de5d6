"""YAML by the core schema of version 1.2, without what surprises a reader.

PyYAML's parser gives events, and values are made of them here: an alias, an anchor, a tag or a
nesting without end is refused where it stands, before anything is built. Of plain words those are
taken that readers of YAML 1.1 and 1.2 understand alike: ``yes``, ``1:30``, ``0461`` or a date must
be put into quotes, or written otherwise. The libraries that read YAML 1.2 (ruamel.yaml, strictyaml)
are pure Python and read this repository's files some twenty times slower.
"""

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

import yaml
from yaml import events

from assay.shared import read_limits as limits

_Parser: Any = getattr(yaml, "CLoader", yaml.Loader)
"""Asked for events alone: its constructor, which makes whatever a tag names, is never reached."""
_ALIKE: dict[str, re.Pattern[str]] = {
    "null": re.compile(r"null|Null|NULL|~|"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+"),
    "float": re.compile(r"([-+]?[0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?"),
}
"""Plain words that are no text, by either version, by what they are in YAML 1.1."""
_NUMBER_IN_1_2 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+")
YamlPath = tuple[str | int, ...]
"""The keys and list indices that lead to a value; none for the whole document."""


@dataclass(frozen=True)
class YamlPlaces:
    """Where the values of a document stand, and how its plain words and texts are typed."""

    lines: dict[YamlPath, int] = field(default_factory=dict)
    """From 1; of a member of a mapping the line of its key."""
    typed: dict[YamlPath, str] = field(default_factory=dict)
    """Of every value that is no list and no mapping."""

    def line(self, path: YamlPath) -> int:
        """Return the line of a value; of one that is not there, that of what it would stand in."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse_yaml(text: str) -> Any:
    """Return the document of ``text``. Raises Unreadable with a code and a sentence on its line."""
    return parse_yaml_with_places(text)[0]


@lru_cache(maxsize=64)
def parse_yaml_with_places(text: str) -> tuple[Any, YamlPlaces]:
    """Return a document and where its values stand; cached: nobody changes these objects."""
    if len(text) > limits.MOST_YAML:
        raise limits.Unreadable("file-size", f"has more than {limits.MOST_YAML:,} characters")
    try:
        parser = _Parser(text)
        try:
            reading = _Reading(parser.get_event)
            return reading.document(), reading.places
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        says = f"not valid YAML: {error.problem}{f' {error.context}' if error.context else ''}"
        if "did not find expected" in says:
            says += ": is this line indented as its neighbours are?"
        # What does not end says more by where it begins.
        unended = "end of stream" in str(error.problem)
        mark = (unended and error.context_mark) or error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise limits.Unreadable("yaml-syntax", f"line {line}: {says}") from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise limits.Unreadable("yaml-syntax", f"not valid YAML: {reason}") from error
    except UnicodeError as error:
        raise limits.Unreadable("encoding", f"is not UTF-8: {error}") from error


class _Reading:
    """One document, as far as it was read."""

    def __init__(self, next_event: Any) -> None:
        self._next = next_event
        self._nodes = 0
        self.places = YamlPlaces()

    def document(self) -> Any:
        """Return the value of the only document."""
        self._next()  # the start of the stream
        start = self._next()
        if isinstance(start, events.StreamEndEvent):
            raise limits.Unreadable("yaml-empty", "holds nothing")
        if start.version or start.tags:
            _refuse(start, "yaml-directive", "a directive (%) is not read here")
        value = self._value(self._next(), ())
        self._next()  # the end of the document
        after = self._next()
        if not isinstance(after, events.StreamEndEvent):
            _refuse(after, "yaml-documents", "a second document begins; a file holds one")
        return value

    def _value(self, event: Any, path: YamlPath) -> Any:
        self._require_plain(event)
        kind = type(event)
        if kind is events.ScalarEvent:
            self.places.typed[path] = event.value
            return _scalar(event)
        if len(path) >= limits.MOST_DEPTH:
            _refuse(event, "yaml-depth", f"nested too deeply: more than {limits.MOST_DEPTH} levels")
        return self._list(path) if kind is events.SequenceStartEvent else self._mapping(path)

    def _list(self, path: YamlPath) -> list[Any]:
        values: list[Any] = []
        while type(event := self._next()) is not events.SequenceEndEvent:
            below = (*path, len(values))
            self.places.lines[below] = event.start_mark.line + 1
            values.append(self._value(event, below))
        return values

    def _mapping(self, path: YamlPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while type(event := self._next()) is not events.MappingEndEvent:
            self._require_plain(event)
            key = _scalar(event) if isinstance(event, events.ScalarEvent) else None
            if not isinstance(key, str):
                _refuse(event, "yaml-key", "a key must be text: put it into quotes")
            if len(key) > limits.MOST_KEY:
                _refuse(event, "yaml-key", f"a key has more than {limits.MOST_KEY} characters")
            if key in values:
                _refuse(event, "yaml-duplicate", f"key '{key}' is given twice")
            below = (*path, key)
            self.places.lines[below] = event.start_mark.line + 1
            values[key] = self._value(self._next(), below)
        return values

    def _require_plain(self, event: Any) -> None:
        """Refuse what stands for something else, and one value too many."""
        if isinstance(event, events.AliasEvent):
            _refuse(event, "yaml-alias", f"an alias (*{str(event.anchor)[:40]}) is not read here")
        if event.anchor is not None:
            _refuse(event, "yaml-anchor", f"an anchor (&{str(event.anchor)[:40]}) is not read here")
        if event.tag is not None:
            _refuse(event, "yaml-tag", f"a tag ({event.tag[:40]}) is not read here")
        self._nodes += 1
        if self._nodes > limits.MOST_YAML_NODES:
            _refuse(event, "yaml-nodes", f"there are more than {limits.MOST_YAML_NODES:,} values")


def _scalar(event: Any) -> Any:
    text = event.value
    if len(text) > limits.MOST_YAML_TEXT:
        _refuse(event, "yaml-text", f"a text has more than {limits.MOST_YAML_TEXT:,} characters")
    if not event.implicit[0]:  # in quotes, or a block: text, whatever it looks like
        return text
    value, code, problem = _plain(text)
    if code is not None:
        _refuse(event, code, problem)
    return value


@lru_cache(maxsize=8192)
def _plain(text: str) -> tuple[Any, str | None, str]:
    """Return the value of a plain word, or a code and what is wrong with it."""
    shown, kind = repr(text[: limits.MOST_NUMBER]), _in_1_1(text)
    if kind == "merge":
        return None, "yaml-merge", "a merge key (<<) is not read here"
    if kind == "float" and text.lower().endswith((".inf", ".nan")):
        return None, "yaml-number", f"{shown} is no finite number"
    alike = _ALIKE[kind].fullmatch(text) if kind in _ALIKE else kind == "str"
    if not alike or (kind == "str" and _NUMBER_IN_1_2.fullmatch(text)):
        means = "does not mean the same to readers of YAML 1.1 and of 1.2"
        says = f"{shown} {means}: put it into quotes where it is text (1.0e-3 is a number)"
        return None, "yaml-ambiguous", says
    if kind not in ("int", "float"):
        return {"null": None, "bool": text.lower() == "true"}.get(kind, text), None, ""
    if len(text) > limits.MOST_NUMBER:
        says = f"{shown}... is a number of more than {limits.MOST_NUMBER} characters"
        return None, "yaml-number", says
    value = int(text, 0) if kind == "int" else float(text)
    finite = math.isfinite(value)
    return (value, None, "") if finite else (None, "yaml-number", f"{shown} is no finite number")


def _in_1_1(text: str) -> str:
    for tag, pattern in yaml.SafeLoader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            return str(tag.rpartition(":")[2])
    return "str"


def _refuse(event: Any, code: str, sentence: str) -> NoReturn:
    raise limits.Unreadable(code, f"line {event.start_mark.line + 1}: {sentence}")

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

from assay.shared.read_limits import (
    MOST_DEPTH,
    MOST_KEY,
    MOST_NUMBER,
    MOST_YAML,
    MOST_YAML_NODES,
    MOST_YAML_TEXT,
    Unreadable,
)

_Parser: Any = getattr(yaml, "CLoader", yaml.Loader)
"""Asked for events alone: its constructor, which makes whatever a tag names, is never reached."""

_CORE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("null", re.compile(r"null|Null|NULL|~|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    (
        "float",
        re.compile(
            r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
            r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
        ),
    ),
)
"""Plain words that are no text, by section 10.3.2 of the specification."""
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
"""Octal in YAML 1.1, decimal in 1.2."""


YamlPath = tuple[str | int, ...]
"""The keys and list indices that lead to a value; none for the whole document."""


class BadYaml(Unreadable):
    """YAML that is not read, at a line; ``says`` is the sentence without it."""

    def __init__(self, code: str, line: int, says: str) -> None:
        super().__init__(code, f"line {line}: {says}")
        self.line = line
        self.says = says


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
    """Return the one document of ``text``: mappings by text, lists, text, finite numbers, None.

    Raises Unreadable with a code and one sentence that names the line.
    """
    value, _ = parse_yaml_with_places(text)
    return value


def parse_yaml_with_places(text: str) -> tuple[Any, YamlPlaces]:
    """Return a document as ``parse_yaml`` does, and where its values stand."""
    if len(text) > MOST_YAML:
        raise Unreadable("file-size", f"has more than {MOST_YAML:,} characters")
    try:
        parser = _Parser(text)
        try:
            reading = _Reading(parser)
            return reading.document(), reading.places
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        marks = (error.problem_mark, error.context_mark)
        if "end of stream" in str(error.problem):  # what does not end says more by where it begins
            marks = marks[::-1]
        mark = marks[0] or marks[1]
        if mark is None:
            raise Unreadable("yaml-syntax", f"not valid YAML: {error.problem}") from error
        says = f"not valid YAML: {error.problem}{f' {error.context}' if error.context else ''}"
        if "did not find expected" in says:
            says += ": is this line indented as its neighbours are?"
        raise BadYaml("yaml-syntax", mark.line + 1, says) from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise Unreadable("yaml-syntax", f"not valid YAML: {reason}") from error
    except UnicodeError as error:
        raise Unreadable("encoding", f"is not UTF-8: {error}") from error


class _Reading:
    """One document, as far as it was read."""

    def __init__(self, parser: Any) -> None:
        self._next = parser.get_event
        self._nodes = 0
        self.places, self._path = YamlPlaces(), list[str | int]()

    def document(self) -> Any:
        """Return the value of the only document."""
        self._next()  # the start of the stream
        start = self._next()
        if isinstance(start, events.StreamEndEvent):
            raise Unreadable("yaml-empty", "holds nothing")
        if start.version or start.tags:
            _refuse(start, "yaml-directive", "a directive (%) is not read here")
        value = self._value(self._next(), 1)
        self._next()  # the end of the document
        after = self._next()
        if not isinstance(after, events.StreamEndEvent):
            _refuse(after, "yaml-documents", "a second document begins; a file holds one")
        return value

    def _value(self, event: Any, depth: int) -> Any:
        kind = type(event)
        if kind is events.AliasEvent:
            _refuse(event, "yaml-alias", f"an alias (*{event.anchor[:40]}) is not read here")
        if event.anchor is not None:
            _refuse(event, "yaml-anchor", f"an anchor (&{event.anchor[:40]}) is not read here")
        if event.tag is not None:
            _refuse(event, "yaml-tag", f"a tag ({event.tag[:40]}) is not read here")
        self._nodes += 1
        if self._nodes > MOST_YAML_NODES:
            _refuse(event, "yaml-nodes", f"there are more than {MOST_YAML_NODES:,} values")
        if kind is events.ScalarEvent:
            return _scalar(event)
        if depth > MOST_DEPTH:
            _refuse(event, "yaml-depth", f"nested too deeply: more than {MOST_DEPTH} levels")
        if kind is events.SequenceStartEvent:
            values: list[Any] = []
            while type(item := self._next()) is not events.SequenceEndEvent:
                values.append(self._member(len(values), item, item, depth + 1))
            return values
        return self._mapping(depth)

    def _member(self, name: str | int, at: Any, event: Any, depth: int) -> Any:
        """Return a value of a list or a mapping; ``at``: the event that its line is that of."""
        self._path.append(name)
        path = tuple(self._path)
        self.places.lines[path] = at.start_mark.line + 1
        if isinstance(event, events.ScalarEvent):
            self.places.typed[path] = event.value
        value = self._value(event, depth)
        self._path.pop()
        return value

    def _mapping(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while type(event := self._next()) is not events.MappingEndEvent:
            key = self._value(event, MOST_DEPTH + 1) if _is_scalar(event) else None
            if not isinstance(key, str):
                _refuse(event, "yaml-key", "a key must be text: put it into quotes")
            if len(key) > MOST_KEY:
                _refuse(event, "yaml-key", f"a key has more than {MOST_KEY} characters")
            if key in values:
                _refuse(event, "yaml-duplicate", f"key '{key}' is given twice")
            values[key] = self._member(key, event, self._next(), depth + 1)
        return values


def _is_scalar(event: Any) -> bool:
    """Return whether an event may be a key; an alias may not, and says so itself."""
    return isinstance(event, events.ScalarEvent | events.AliasEvent)


def _scalar(event: Any) -> Any:
    text = event.value
    if len(text) > MOST_YAML_TEXT:
        _refuse(event, "yaml-text", f"a text has more than {MOST_YAML_TEXT:,} characters")
    if not event.implicit[0]:  # in quotes, or a block: text, whatever it looks like
        return text
    value, code, problem = _plain(text)
    if code is not None:
        _refuse(event, code, problem)
    return value


@lru_cache(maxsize=8192)
def _plain(text: str) -> tuple[Any, str | None, str]:
    """Return the value of a plain word, or a code and what is wrong with it."""
    shown = repr(text[:MOST_NUMBER])
    if text == "<<":
        return None, "yaml-merge", "a merge key (<<) is not read here"
    core = next((name for name, pattern in _CORE if pattern.fullmatch(text)), "str")
    if core != _by_version_1_1(text) or _LEADING_ZERO.fullmatch(text):
        means = "does not mean the same to readers of YAML 1.1 and of 1.2"
        says = f"{shown} {means}: put it into quotes where it is text (1.0e-3 is a number)"
        return None, "yaml-ambiguous", says
    if core in ("int", "float") and len(text) > MOST_NUMBER:
        return None, "yaml-number", f"{shown}... is a number of more than {MOST_NUMBER} characters"
    if core == "float" and not math.isfinite(_float(text)):
        return None, "yaml-number", f"{shown} is no finite number"
    return _MAKE[core](text), None, ""


def _by_version_1_1(text: str) -> str:
    """Return what a plain word is to PyYAML, and to most others that read YAML 1.1."""
    for tag, pattern in yaml.SafeLoader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            return str(tag.rpartition(":")[2])
    return "str"


def _float(text: str) -> float:
    return float(re.sub(r"^([-+]?)\.(inf|nan)$", r"\1\2", text, flags=re.IGNORECASE))


_MAKE: dict[str, Any] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": lambda text: int(text, 16 if text.startswith("0x") else 10),
    "float": _float,
    "str": str,
}


def _refuse(event: Any, code: str, sentence: str) -> NoReturn:
    raise BadYaml(code, event.start_mark.line + 1, sentence)

"""What can be read of a YAML file with faults of syntax: entries that have one are left out.

The file is parted by its lines: keys that begin one, and the entries of their lists. Each part is
then read by itself. One that cannot be read leaves a stub: its id, its source and its words, so
that nobody misses what it names.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.base.strict_yaml import BadYaml, parse_yaml, parse_yaml_with_places
from assay.base.yaml_problems import PlacedYaml, YamlProblem, YamlProblems
from assay.shared.read_limits import Unreadable

UNREAD = "unread"
"""Key of a stub that holds its words."""
MOST_WORDS = 500
OF_THE_FILE = frozenset({"yaml-nodes", "yaml-documents", "yaml-directive"})
"""Codes of what is wrong with a file as a whole: no part of it is read alone."""
_KEY = re.compile(r"([A-Za-z_]\w*)\s*(?::|$)", re.MULTILINE)
_ENTRY = re.compile(r"( *)-(\s|$)")
_NAMES = {name: re.compile(rf"\b{name}:\s*[\"']?(\w+)") for name in ("id", "source")}


@dataclass(frozen=True)
class ReadParts:
    """A document without the parts that cannot be read."""

    document: PlacedYaml
    problems: tuple[YamlProblem, ...] = ()
    """Of syntax, one for each part."""
    stubs: frozenset[int] = frozenset()
    """Lines of the stubs: what is said of them is not the file's fault."""
    keys: frozenset[str] = frozenset()
    """Keys of the document whose value is left out."""
    unknown: bool = False
    """Whether entries are left out with their key, so that nobody knows what they name."""


@dataclass(frozen=True)
class _FilePart:
    """Lines of a file, from 0, without the last: a key, or an entry of the list of one."""

    first: int
    end: int
    indent: str | None
    """Of an entry; None for a key."""


def read_parts(path: Path) -> ReadParts:
    """Read a YAML file, or what can be read of it. Raises BadInput where nothing can, and
    YamlProblems with all that is wrong where parts that are sound make no document.
    """
    text = read_text(path)
    try:
        return ReadParts(PlacedYaml(path, *parse_yaml_with_places(text)))
    except Unreadable as error:
        if not isinstance(error, BadYaml) or error.code in OF_THE_FILE:
            raise BadInput(f"{path}: {error}", code=error.code) from error
        return _recovered(path, text, error)


def _recovered(path: Path, text: str, whole: BadYaml) -> ReadParts:
    lines = text.split("\n")
    problems: list[YamlProblem] = []
    stubs, keys, key, unknown = set[int](), set[str](), None, False
    for part in list(_parts(lines)):
        fault = _fault(lines, part)
        content = "\n".join(lines[part.first : part.end])
        if part.indent is None:
            named = _KEY.match(content)
            key = named[1] if fault and named else None  # the entries of its list go with it
        if fault is not None:
            problems.append(fault)
        if fault is None and key is None:
            continue
        lines[part.first : part.end] = [""] * (part.end - part.first)
        if key is not None:
            keys.add(key)
            unknown |= part.indent is not None
        elif part.indent is not None:
            lines[part.first] = f"{part.indent}- {_stub(content)}"
            stubs.add(part.first + 1)
    if not problems:
        raise BadInput(f"{path}: {whole}", code=whole.code) from whole
    try:
        read = PlacedYaml(path, *parse_yaml_with_places("\n".join(lines)))
    except BadYaml as error:
        raise YamlProblems(path, [*problems, YamlProblem(error.line, error.says)]) from error
    except Unreadable as error:
        raise YamlProblems(path, problems) from error
    return ReadParts(read, tuple(problems), frozenset(stubs), frozenset(keys), unknown)


def _parts(lines: list[str]) -> Iterator[_FilePart]:
    """Yield the keys that begin a line, and after each the entries of its list, in order."""
    first, indent, of = 0, None, None
    for number, line in enumerate(lines):
        entry = _ENTRY.match(line)
        if entry is not None and (indent is None or entry[1] == indent):
            begins, indent = True, entry[1]
        else:
            begins = bool(line.strip()) and line[0] not in " \t#-"
            indent = None if begins else indent
        if begins:
            yield _FilePart(first, number, of)
            first, of = number, indent
    yield _FilePart(first, len(lines), of)


def _fault(lines: list[str], part: _FilePart) -> YamlProblem | None:
    """Return what is wrong with a part alone."""
    try:
        value = parse_yaml("\n".join(lines[part.first : part.end]))
    except BadYaml as error:
        return YamlProblem(min(part.first + error.line, part.end), error.says)
    except Unreadable as error:
        empty = error.code == "yaml-empty"
        return None if empty else YamlProblem(part.first + 1, str(error))
    wanted = dict if part.indent is None else list
    if isinstance(value, wanted):
        return None
    return YamlProblem(part.first + 1, "not valid YAML: a key stands here without a colon")


def _stub(content: str) -> str:
    names = {name: found[1] for name, what in _NAMES.items() if (found := what.search(content))}
    words = list(dict.fromkeys(re.findall(r"\w+", content)))[:MOST_WORDS]
    return json.dumps({**names, UNREAD: words})

"""Reading and writing: bounded YAML, bounded records as JSON, atomic writes, digests."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.base.errors import BadInput
from assay.base.strict_yaml import parse_yaml
from assay.records.base import (
    CALLABLE_PATTERN,
    ID_PATTERN,
    PACKAGE_PATTERN,
    PATH_PATTERN,
    SHA256_PATTERN,
    SLURM_PATTERN,
    SYMBOL_PATTERN,
    Record,
)
from assay.shared import read_limits
from assay.shared.bounded_json import parse_bounded
from assay.shared.files import canonical_json, write_json

R = TypeVar("R", bound=Record)

IN_WORDS = {
    ID_PATTERN: "an id has lower-case letters, digits and _ only",
    SHA256_PATTERN: "a SHA-256 digest has 64 digits, of 0-9 and a-f",
    SYMBOL_PATTERN: "a name has letters, digits and _ only, and no digit first",
    PATH_PATTERN: "a path is one below the folder: letters, digits and . _ + -, parted by /",
    PATH_PATTERN.removesuffix("$") + r"\.cu$": "a CUDA file is one below the folder, as csrc/a.cu",
    CALLABLE_PATTERN: "a function is named with its file below the folder, as softmax.py:case",
    PACKAGE_PATTERN: "a package is named as pip names it, as flash-attn",
    SLURM_PATTERN: "a name of Slurm has letters, digits and . _ - only",
    "^-[!-~]+$": "a word for the compiler begins with - and holds no blank",
    "^sm_[0-9]{2,3}$": "an architecture is named as sm_90",
    "^sm_[0-9]+a?$": "an architecture is named as sm_90a",
    r"^[0-9]+\.[0-9]$": "a compute capability is written as '9.0'",
}
"""Patterns of texts, as people read them; a test says that no pattern of a project lacks here."""
BY_KIND = {
    "missing": "is missing",
    "extra_forbidden": "there is no such key",
    "too_short": "is empty: name one at least",
    "union_tag_not_found": "{discriminator} is missing",
    "union_tag_invalid": "must be one of {expected_tags}",
}
"""What else pydantic says in words of its own, by the type of its error."""
SHOULD = re.compile("^(Input|String|Tuple|Dictionary|List) should ")


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Raise BadInput with one sentence on ``path`` for what is unreadable, or no such record."""
    try:
        yield
    except read_limits.Unreadable as error:
        raise BadInput(f"{path}: {error}", code=error.code) from error
    except ValidationError as error:
        raise BadInput(f"{path}: {_problem(error)}", code="record") from error


def parse_record(model: type[R], text: str | bytes, path: Path) -> R:
    """Validate JSON ``text`` as ``model``. Raises BadInput with one sentence naming ``path``."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    with _told_of(path):
        parse_bounded(data)
        return model.model_validate_json(data)


def read_bytes(path: Path, most: int = read_limits.MOST_DOCUMENT) -> bytes:
    """Return what a plain file of at most ``most`` bytes holds. Raises BadInput."""
    try:
        with _told_of(path):
            return read_limits.whole_file_bytes(path, most)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file", code="file-missing") from None
    except OSError as error:
        problem = f"{path}: cannot be read: {error.strerror or error}"
        raise BadInput(problem, code="file-unreadable") from error


def read_text(path: Path, most: int = read_limits.MOST_YAML) -> str:
    """Return the text of a UTF-8 file. Raises BadInput when it is missing, too long or not text."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot be read: {error}", code="encoding") from error


def load_yaml(model: type[R], path: Path) -> R:
    """Read a YAML file as ``model``. Raises BadInput with one sentence for any defect."""
    text = read_text(path)
    with _told_of(path):
        found: R = _record_of_yaml(model, text)
    return found


@lru_cache(maxsize=512)
def _record_of_yaml(model: type[R], text: str) -> R:
    """Return a text as a record, which nobody can change: a run reads the same one again."""
    return model.model_validate_json(json.dumps(parse_yaml(text)))


def read_record(model: type[R], path: Path) -> R:
    """Read a JSON record, gzip-compressed when the name ends in .gz. Raises BadInput."""
    data = read_bytes(path)
    if path.suffix == ".gz":
        with _told_of(path):
            data = read_limits.gunzipped(data)
    return parse_record(model, data, path)


def _problem(error: ValidationError) -> str:
    """Return the first problem of a validation, as one sentence; says how many more there are."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = plain_words(first)
    more = error.error_count() - 1
    tail = f" (and {more} more)" if more else ""
    return f"{where + ': ' if where else ''}{message[:1].lower()}{message[1:]}{tail}"


def plain_words(error: ErrorDetails) -> str:
    """Return what pydantic finds wrong in words for people who do not know it."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return IN_WORDS.get(context["pattern"], "is not written as it must be")
    if kind in BY_KIND:
        return BY_KIND[kind].format_map(context)
    return SHOULD.sub("must ", error["msg"].removeprefix("Value error, "))


def dump_record(record: Record) -> bytes:
    """Canonical JSON of a record: sorted keys, two-space indent, one trailing newline."""
    return canonical_json(record.model_dump(mode="json", by_alias=True))


def write_record(record: Record, path: Path) -> None:
    """Write a record as canonical JSON, gzip-compressed (without a time stamp) for .gz names."""
    write_json(record.model_dump(mode="json", by_alias=True), path)

"""Reading and writing: strict YAML, records as JSON, atomic writes, digests."""

import gzip
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from assay.base.errors import BadInput
from assay.records.base import Record
from assay.shared.files import canonical_json, write_json

R = TypeVar("R", bound=Record)


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_SafeLoader):  # type: ignore[misc]
    """YAML 1.1 without surprises: no dates, no duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: key '{key}' is given twice")
            seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _sentence(path: Path, error: ValidationError) -> str:
    """Return the first problem of a validation, as one sentence; says how many more there are."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    more = error.error_count() - 1
    tail = f" (and {more} more)" if more else ""
    return f"{path}: {where + ': ' if where else ''}{message[:1].lower()}{message[1:]}{tail}"


def parse_record(model: type[R], text: str | bytes, path: Path) -> R:
    """Validate JSON ``text`` as ``model``. Raises BadInput with one sentence naming ``path``."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise BadInput(_sentence(path, error)) from error


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file. Raises BadInput when it is missing or not text."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error


def load_yaml(model: type[R], path: Path) -> R:
    """Read a YAML file as ``model``. Raises BadInput with one sentence for any defect."""
    try:
        data = yaml.load(read_text(path), Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
        text = json.dumps(data)
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply") from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise BadInput(f"{path}: not valid YAML: {reason}") from error
    return parse_record(model, text, path)


def read_record(model: type[R], path: Path) -> R:
    """Read a JSON record, gzip-compressed when the name ends in .gz."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except (OSError, EOFError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error
    return parse_record(model, data, path)


def dump_record(record: Record) -> bytes:
    """Canonical JSON of a record: sorted keys, two-space indent, one trailing newline."""
    return canonical_json(record.model_dump(mode="json", by_alias=True))


def write_record(record: Record, path: Path) -> None:
    """Write a record as canonical JSON, gzip-compressed (without a time stamp) for .gz names."""
    write_json(record.model_dump(mode="json", by_alias=True), path)


def write_record_if_changed(record: Record, path: Path) -> bool:
    """Like write_record, but leaves an equal file (and its time stamp) alone."""
    if path.is_file() and path.suffix != ".gz" and path.read_bytes() == dump_record(record):
        return False
    write_record(record, path)
    return True

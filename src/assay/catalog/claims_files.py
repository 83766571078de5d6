"""The claims of Assay's own sources, read as a project's are: ``config/claims/*.yaml``."""

import json
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import (
    PlacedYaml,
    YamlProblem,
    YamlProblems,
    beside,
    read_part,
    read_placed_yaml,
)
from assay.catalog.as_written import write_out
from assay.records.base import Record
from assay.records.claims import Audit, Claim, ClaimsFile

PARTS: dict[str, type[Record]] = {"claims": Claim, "audits": Audit}


def load_claims_file(path: Path) -> ClaimsFile:
    """Read one source's claims. Raises BadInput that names all that is wrong, with lines.

    Units stand as people write them, and a resolution that is not given is that of the digits.
    """
    document = read_placed_yaml(path)
    if not isinstance(document.value, dict):
        raise YamlProblems(path, [YamlProblem(1, "is no mapping: schema, source, claims")])
    entries = document.value.get("claims")
    problems: list[YamlProblem] = []
    claims = []
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            claims.append(entry)
            continue
        claim, found = write_out(document, ("claims", number))
        claims.append(claim)
        problems += [YamlProblem(each.line, f"claims.{number}.{each.says}") for each in found]
    written = {**document.value, "claims": claims} if isinstance(entries, list) else document.value
    if not problems:
        with suppress(ValidationError):
            return ClaimsFile.model_validate_json(json.dumps(written))
    raise YamlProblems(path, [*problems, *beside(problems, _problems(document, written))])


def _problems(document: PlacedYaml, written: dict[str, object]) -> list[YamlProblem]:
    """Return what is wrong, entry by entry: of a list the records tell the first alone."""
    found: list[YamlProblem] = []
    for name, model in PARTS.items():
        entries = written.get(name)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            at: YamlPath = (name, number)
            found += read_part(model, entry, document, at)[1]
    if not found:
        found = read_part(ClaimsFile, written, document, ())[1]
    return found

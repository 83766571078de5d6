"""Records and texts are read within bounds, from plain files only; a refusal has its code."""

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.base.errors import AssayError, BadInput, CheckFailed, Interrupted, MissingEnvironment
from assay.base.io import IN_WORDS, parse_record, read_bytes, read_record, read_text
from assay.records.attestation import PipelineRecord
from assay.records.projects import ProjectDocument
from assay.records.verdicts import VerdictsFile

GOOD = b'{"schema": "assay/pipeline/1", "commit": null, "clean_tree": null}'


def _code(read: Callable[[], object]) -> str:
    with pytest.raises(BadInput) as raised:
        read()
    assert raised.value.exit_code == 2
    assert len(str(raised.value).splitlines()) == 1
    return raised.value.code


def test_every_error_has_a_code_of_its_class_or_its_own() -> None:
    codes = [kind("x").code for kind in (AssayError, CheckFailed, BadInput, MissingEnvironment)]
    assert codes == ["failed", "check-failed", "bad-input", "machine-lacks"]
    assert Interrupted("x", 130).code == "interrupted"
    assert BadInput("x", code="json-depth").code == "json-depth"
    assert BadInput("x").code == "bad-input"


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        yield from schema.get("patternProperties", ())
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            yield from _patterns(part)


def test_every_pattern_of_a_project_has_words_for_people() -> None:
    found = {*_patterns(ProjectDocument.model_json_schema())}
    assert found - {r"^[A-Z_]+$"} == IN_WORDS.keys() & found
    assert len(found) > 10


class TestPlainFiles:
    def test_a_pipe_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.json")
        assert _code(lambda: read_record(PipelineRecord, tmp_path / "pipe.json")) == "file-kind"

    def test_a_sparse_terabyte_is_not_read(self, tmp_path: Path) -> None:
        with (tmp_path / "big").open("wb") as stream:
            stream.truncate(1 << 40)
        assert _code(lambda: read_bytes(tmp_path / "big")) == "file-size"
        assert _code(lambda: read_text(tmp_path / "big")) == "file-size"


class TestGzip:
    def _code(self, tmp_path: Path, data: bytes) -> str:
        path = tmp_path / "record.json.gz"
        path.write_bytes(data)
        return _code(lambda: read_record(PipelineRecord, path))

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "gzip"),
            (b"no gzip", "gzip"),
            (gzip.compress(GOOD)[:-1], "gzip"),
            (gzip.compress(GOOD)[:-8] + bytes(8), "gzip"),
            (gzip.compress(GOOD) + b"\0", "gzip-trailing"),
            (gzip.compress(GOOD) + gzip.compress(b" "), "gzip-trailing"),
            (gzip.compress(b"[" * 100_000), "json-depth"),
        ],
        ids=["empty", "other", "short", "checksum", "padding", "two members", "deep"],
    )
    def test_a_broken_one_is_refused(self, tmp_path: Path, data: bytes, code: str) -> None:
        assert self._code(tmp_path, data) == code


class TestRecords:
    def test_a_sentence_does_not_quote_all_of_a_hostile_record(self) -> None:
        text = b'{"' + b"k" * 250 + b'": "' + b"v" * 100_000 + b'"}'
        with pytest.raises(BadInput) as raised:
            parse_record(PipelineRecord, text, Path("x"))
        assert raised.value.code == "record"
        assert len(str(raised.value)) < 600

    def test_a_hundred_thousand_wrong_entries_cost_no_more_than_one(self) -> None:
        """Each error takes about a kilobyte, and a file of 300 kB could have millions."""
        entries = ",".join(["{}"] * 100_000)
        text = f'{{"schema": "assay/verdicts/2", "run": "r", "rules": 3, "verdicts": [{entries}]}}'
        with pytest.raises(ValidationError) as raised:
            VerdictsFile.model_validate_json(text)
        assert raised.value.error_count() < 100

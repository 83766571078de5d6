"""Of a file with faults of syntax each costs its own entry, and all are found."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.base.yaml_problems import YamlProblems
from assay.base.yaml_recovery import UNREAD, ReadParts, read_parts

SOUND = """\
# A comment.
title: A title
claims:
  - id: one
    source: post
    value: 1
  - id: two
    value: 2
audits:
- id: three
"""


def read(folder: Path, text: str) -> ReadParts:
    path = folder / "a.yaml"
    path.write_text(text)
    return read_parts(path)


def changed(*pairs: tuple[str, str]) -> str:
    text = SOUND
    for stands, put in pairs:
        assert text.count(stands) == 1
        text = text.replace(stands, put)
    return text


def test_a_sound_file_is_read_whole(tmp_path: Path) -> None:
    found = read(tmp_path, SOUND)
    assert (found.problems, found.stubs, found.keys) == ((), frozenset(), frozenset())
    assert [each["id"] for each in found.document.value["claims"]] == ["one", "two"]


@pytest.mark.parametrize("put", ['"unclosed', "{a: 1", "*alias", "1e3", "\tx: 1"])
def test_an_entry_with_a_fault_leaves_its_names(tmp_path: Path, put: str) -> None:
    found = read(tmp_path, changed(("value: 1\n", f"value: {put}\n")))
    first, second = found.document.value["claims"]
    assert (first["id"], first["source"]) == ("one", "post")
    assert "value" in first[UNREAD]
    assert second == {"id": "two", "value": 2}
    assert found.document.value["audits"] == [{"id": "three"}]
    assert len(found.problems) == 1
    assert found.problems[0].line in (6, 7)
    assert found.stubs == {4}
    assert found.document.places.line(("claims", 1, "value")) == 8


def test_every_fault_is_found(tmp_path: Path) -> None:
    text = changed(("title: A", 'title: "A'), ("value: 1\n", "value: [\n"), ("value: 2", "a: b: c"))
    found = read(tmp_path, text)
    assert [each.line for each in found.problems] == [2, 6, 8]
    assert found.keys == {"title"}
    assert found.document.value["audits"] == [{"id": "three"}]


def test_entries_go_with_a_key_that_is_none(tmp_path: Path) -> None:
    found = read(tmp_path, changed(("claims:\n", "claims\n")))
    assert (found.keys, found.unknown) == ({"claims"}, True)
    assert [each.line for each in found.problems] == [3]
    assert "claims" not in found.document.value


def test_sound_parts_that_make_no_document_are_refused(tmp_path: Path) -> None:
    twice = SOUND + "title: Another\n"
    with pytest.raises(BadInput, match="line 11: key 'title' is given twice"):
        read(tmp_path, twice)
    with pytest.raises(YamlProblems) as error:
        read(tmp_path, twice.replace("value: 1\n", "value: [\n"))
    assert [each.line for each in error.value.problems] == [6, 11]
    with pytest.raises(BadInput, match="a second document"):
        read(tmp_path, SOUND + "---\na: [\n")

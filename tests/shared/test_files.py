"""files: records are written whole or not at all, in one form."""

import gzip
import json

import pytest

from assay.shared.files import whole_file, write_bytes, write_json


class TestWriteRecord:
    def test_is_canonical_and_leaves_nothing_else(self, tmp_path):
        write_json({"b": 1, "a": [2.5]}, tmp_path / "new" / "r.json")
        text = (tmp_path / "new" / "r.json").read_text()
        assert text == '{\n  "a": [\n    2.5\n  ],\n  "b": 1\n}\n'
        assert [p.name for p in (tmp_path / "new").iterdir()] == ["r.json"]

    def test_compresses_without_a_time_stamp(self, tmp_path):
        path = tmp_path / "r.json.gz"
        write_json({"a": 1}, path)
        first = path.read_bytes()
        write_json({"a": 1}, path)
        assert path.read_bytes() == first
        assert json.loads(gzip.decompress(first)) == {"a": 1}

    def test_refuses_nan_and_keeps_the_old_file(self, tmp_path):
        path = tmp_path / "r.json"
        write_json({"a": 1}, path)
        with pytest.raises(ValueError, match="not JSON compliant"):
            write_json({"a": float("nan")}, path)
        assert json.loads(path.read_text()) == {"a": 1}


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_was_cut_short_leaves_the_old_file_and_nothing_else(tmp_path, end):
    path = tmp_path / "record.json"
    write_bytes(path, b"old")
    with pytest.raises(end), whole_file(path) as stream:
        stream.write(b"half of it")
        raise end
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]

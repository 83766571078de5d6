"""Readers of what others made, fed by chance: they refuse with their own errors, soon, or read.

What was found stays below as ``@example``. The same examples every time: CI must not fail by luck.
"""

import gzip
import json
import lzma
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.base.check_log import CheckUnderWay
from assay.base.errors import AssayError, CheckFailed
from assay.base.io import dump_record, parse_record
from assay.base.strict_yaml import parse_yaml
from assay.evidence.nsight_csv import longest_kernel, split_raw_page
from assay.records.attestation import Manifest
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import Unreadable, gunzipped
from assay.verification import report_archive
from assay.verification.attestation import parse_statement
from assay.verification.envelope import dump_envelope, parse_envelope
from assay.verification.manifest import check_shape

bounded = settings(
    max_examples=100, deadline=5_000, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
"""Some seconds each; five for any one text, however odd, on a machine that has more to do."""

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.text(max_size=10)
VALUES = st.recursive(
    SCALARS | NUMBERS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=10,
)
JSON_WORDS = st.lists(
    st.sampled_from(["[", "]", "{", "}", '"', ":", ",", "\\", "1", "-", "e", "null", "NaN", '"a"',
                     " ", "\n", "\x00", "\u202e", "\\u0061", "\\ud800", "0" * 50]),
    max_size=60,
).map("".join)  # fmt: skip
YAML_WORDS = st.lists(
    st.sampled_from(["a", "b", ": ", ":", "- ", "-", "? ", "[", "]", "{", "}", ", ", "\n", "  ",
                     "\n  ", "&x ", "*x", "!!str ", "!", "<<", "|", ">", "'", '"', "#", "%", "---",
                     "...", "yes", "0o7", "1:30", "1e3", ".inf", "\t", "\x07", "\ufeff", "=", "~"]),
    max_size=40,
).map("".join)  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Equal, kind by kind: 1 is not 1.0, and not True."""
    return repr(one) == repr(other)


class TestJson:
    @bounded
    @given(st.binary(max_size=200) | JSON_WORDS.map(lambda text: text.encode()))
    @example(b'"\\')
    @example(b"-")
    @example(b"\xef\xbb\xbf1")
    def test_any_bytes(self, data: bytes) -> None:
        try:
            value = parse_bounded(data)
        except Unreadable as error:
            assert error.code.startswith("json") or error.code == "encoding"
            return
        assert same(value, json.loads(data))


class TestYaml:
    @bounded
    @given(st.text(max_size=200) | YAML_WORDS)
    @example("a: !<tag:yaml.org,2002:str> b")
    @example("? ? ? a")
    @example("\ud800")
    def test_any_text(self, text: str) -> None:
        try:
            value = parse_yaml(text)
        except Unreadable as error:
            assert error.code.startswith("yaml") or error.code in ("encoding", "file-size")
            assert "\n" not in str(error).replace(repr(text), "")[:20]
            return
        assert _is_plain(value)
        # Whatever is taken means the same to a reader of YAML 1.1.
        assert same(yaml.load(text, Loader=yaml.CSafeLoader), value)


class TestGzip:
    @bounded
    @given(st.binary(max_size=300))
    def test_any_bytes(self, data: bytes) -> None:
        for tried in (data, b"\x1f\x8b\x08" + data):
            try:
                found = gunzipped(tried)
            except Unreadable as error:
                assert error.code.startswith("gzip")
            else:
                assert found == gzip.decompress(tried)

    @bounded
    @given(st.binary(max_size=2000), st.integers(0, 3000), st.integers(1, 255))
    def test_a_changed_byte_is_noticed_or_means_nothing(self, data, place, change):
        packed = bytearray(gzip.compress(data, mtime=0))
        packed[place % len(packed)] ^= change
        try:
            assert gunzipped(bytes(packed)) == data
        except Unreadable as error:
            assert error.code.startswith("gzip")


class TestEnvelope:
    @bounded
    @given(st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()))
    @example(b'{"payload": "", "payloadType": [], "signatures": []}')
    @example(b'{"payload": "", "payloadType": "", "signatures": [{"keyid": [], "sig": ""}]}')
    @example(b'{"payload": "", "payloadType": "", "signatures": {"keyid": 1}}')
    def test_any_bytes(self, data: bytes) -> None:
        self._read(data)

    @staticmethod
    def _read(data: bytes) -> None:
        try:
            envelope = parse_envelope(data)
        except CheckFailed:
            return
        assert data.startswith(dump_envelope(envelope)[:1])
        with pytest.raises(AssayError):
            parse_statement(envelope.payload)


class TestManifest:
    @bounded
    @given(st.lists(st.tuples(st.text(max_size=30), st.integers(-1, 2**60)), max_size=6))
    @example([("a", 1), ("a", 1)])
    @example([("..", 1)])
    @example([("a\ud800", 1)])
    def test_any_list(self, files: list[tuple[str, int]]) -> None:
        document = {
            "schema": "assay/manifest/1",
            "run": "demo",
            "files": [{"path": path, "sha256": "0" * 64, "bytes": size} for path, size in files],
        }
        try:
            manifest = parse_record(Manifest, json.dumps(document), Path("m"))
        except AssayError:
            return
        assert parse_record(Manifest, dump_record(manifest), Path("m")) == manifest
        present = {path for path, _ in files} | {"manifest.json", "attestation.json", "signer.pub"}
        check_shape(manifest, present, says := CheckUnderWay(), provenance=False)
        if not says.refusals:
            for path, _ in files:
                assert ".." not in Path(path).parts
                assert not path.startswith("/")
                assert path.isprintable()


class TestArchive:
    @bounded
    @given(st.binary(max_size=300))
    def test_any_bytes(self, data: bytes) -> None:
        for tried in (data, b"\xfd7zXZ\0" + data, lzma.compress(data)):
            with pytest.raises(CheckFailed):
                report_archive._files(report_archive._decompressed(tried), "run")

    @bounded
    @given(st.dictionaries(st.text(min_size=1, max_size=20), st.binary(max_size=600), max_size=4),
           st.integers(0, 5000), st.integers(0, 255))  # fmt: skip
    def test_a_changed_tar_is_refused(self, files, place, change):
        try:
            tar = report_archive._tar("run", files)
        except (CheckFailed, UnicodeError):
            return
        changed = bytearray(tar)
        changed[place % len(tar)] ^= change
        try:
            found = report_archive._files(bytes(changed), "run")
        except CheckFailed:
            return
        assert report_archive._tar("run", found) == bytes(changed)


class TestRawPage:
    @bounded
    @given(st.text(max_size=200) | st.lists(
        st.sampled_from(['"ID"', ",", '"', "\n", "Kernel Name", "gpu__time_duration.sum", "1", "\r",
                         "\x00", "nan", "1e999", "1_0"]), max_size=60).map("".join))  # fmt: skip
    @example('"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","k","nan"\n')
    def test_any_text(self, page: str) -> None:
        split_raw_page(page)
        try:
            kernel = longest_kernel(page)
        except ValueError:
            return
        assert all(map(math.isfinite, kernel.values.values()))


def _is_plain(value: Any) -> bool:
    """Whether JSON could say it: text as keys, finite numbers."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | bool | int) or math.isfinite(value)

"""job: a job is understood whole or refused in one sentence; records are atomic."""

import gzip
import json

import pytest

from assay.shared.errors import BadJob
from assay.shared.files import write_json
from assay.shared.job import make_comparison, make_protocol, read_job


def job_document(**changes):
    document = {
        "schema": "assay/job/1",
        "task": "benchmark",
        "output": "out.json",
        "target": {"id": "h100", "product_pattern": "NVIDIA H100.*", "gpu_model": "h100"},
        "comparison": {
            "id": "c",
            "control": "ours",
            "arms": [
                {"id": "ours", "variant": "k", "workload": "w"},
                {"id": "theirs", "variant": "lib", "workload": "w"},
            ],
        },
        "workloads": {
            "w": {
                "id": "w",
                "operation": "bsr_gemm",
                "dtype": "float16",
                "distribution": "normal",
                "seed": 1,
                "m": 64,
                "n": 32,
                "k": 96,
                "groups": None,
                "pattern": {
                    "kind": "random",
                    "block_rows": 16,
                    "block_cols": 32,
                    "blocks_per_row": 2,
                },
                "pattern_b": None,
                "relative_tolerance": 0.001,
                "max_abs_tolerance": None,
            }
        },
        "variants": {
            "k": {
                "id": "k",
                "operation": "bsr_gemm",
                "kind": "kernel",
                "symbol": "assay_bsr_gemm",
                "abi": "bsr_gemm",
                "title": "fields this side has no use for are fine",
            },
            "lib": {
                "id": "lib",
                "operation": "bsr_gemm",
                "kind": "library",
                "entry": "torch_bsr",
            },
        },
        "artifacts": {"k": {"path": "k.so", "sha256": "0" * 64}},
    }
    return {**document, **changes}


def write(tmp_path, document):
    path = tmp_path / "job.json"
    path.write_text(json.dumps(document))
    return path


class TestReadJob:
    def test_joins_arms_with_what_they_need(self, tmp_path):
        comparison = make_comparison(read_job(write(tmp_path, job_document())))
        ours, theirs = comparison.arms
        assert ours.artifact.sha256 == "0" * 64
        assert theirs.artifact is None
        assert ours.workload.pattern.block_cols == 32
        assert ours.workload.groups == 0
        assert theirs.variant.entry == "torch_bsr"

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"schema": "assay/job/2"}, "is not a assay/job/1 document"),
            ({"task": "dance"}, "unknown task 'dance'"),
            ({"target": {"id": "h100"}}, "target lacks 'product_pattern'"),
        ],
    )
    def test_refuses_in_one_sentence(self, tmp_path, changes, sentence):
        with pytest.raises(BadJob, match=sentence):
            read_job(write(tmp_path, job_document(**changes)))

    def test_refuses_what_is_not_json(self, tmp_path):
        path = tmp_path / "job.json"
        path.write_text("{")
        with pytest.raises(BadJob, match="cannot be read as a job"):
            read_job(path)

    def test_names_a_missing_workload(self, tmp_path):
        job = read_job(write(tmp_path, job_document(workloads={})))
        with pytest.raises(BadJob, match="arm 'ours': workloads lacks 'w'"):
            make_comparison(job)

    def test_names_a_missing_protocol(self, tmp_path):
        with pytest.raises(BadJob, match="lacks 'protocol'"):
            make_protocol(read_job(write(tmp_path, job_document())))


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

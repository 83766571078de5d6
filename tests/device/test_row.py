"""python -m assay.device with several jobs: one start, fresh processes, a lock for each."""

import json
import sys

import pytest
import torch

from assay.device import __main__ as program
from assay.device import benchmark_run, exclusive, preload
from tests.device.helpers import HostStopwatch
from tests.device.test_jobs import job_document
from tests.device.test_telemetry import FakeNvml

RULES = {
    "id": "quick",
    "processes": 5,
    "blocks": 2,
    "samples": 2,
    "l2": "cold",
    "timer": "events",
    "turn_min_ms": None,
    "warmup_min_ms": 0.1,
    "warmup_max_ms": 5.0,
    "warmup_stable_fraction": 0.5,
    "telemetry_interval_ms": 5.0,
    "checked_turns": 0.25,
}


class Nvml(FakeNvml):
    busy = 0

    def nvmlInit(self):  # noqa: N802
        pass

    def nvmlDeviceGetComputeRunningProcesses(self, handle):  # noqa: N802
        return [object()] * self.busy


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A GPU as far as this side looks, whose work the CPU does."""
    nvml = Nvml(["NVIDIA H100 80GB HBM3"])
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setenv(exclusive.LOCK_DIRECTORY_VARIABLE, str(tmp_path))
    for name in (
        "CUDA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER",
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
        exclusive.SHARED_VARIABLE,
        preload.SKIP_VARIABLE,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(benchmark_run, "DEVICE", "cpu")
    monkeypatch.setattr(benchmark_run, "open_cuda", lambda choice: None)
    monkeypatch.setattr(benchmark_run, "CudaStopwatch", lambda cold, counter: HostStopwatch())
    monkeypatch.setattr(benchmark_run, "open_counter", lambda: (None, "no cycles: no GPU"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return nvml


@pytest.fixture
def jobs(tmp_path):
    document = job_document()
    workload = {**document["workloads"]["w"], "operation": "dense_gemm", "pattern": None}
    document["workloads"]["w"] = workload
    document["variants"] = {
        "mm": {"id": "mm", "operation": "dense_gemm", "kind": "library", "entry": "cublas_dense"}
    }
    document["comparison"]["arms"] = [{"id": "ours", "variant": "mm", "workload": "w"}]
    document["artifacts"] = {}
    document.update(protocol=RULES, timed=["ours"], not_timed={})
    paths = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**document, "output": str(tmp_path / f"{name}.out.json")}))
        paths.append(str(path))
    return paths


def test_each_job_has_a_record_that_says_the_gpu_was_its_own(machine, jobs, tmp_path, validated):
    assert program.main(jobs) == 0
    for name in ("first", "second"):
        document = json.loads((tmp_path / f"{name}.out.json").read_text())
        record = validated("BenchmarkRecord", document)
        assert len(record.processes) == 5
        assert record.exclusivity.other_processes == 0
        assert record.exclusivity.lock.endswith("assay-gpu-GPU-0000-0.lock")
        assert record.remarks == ("no cycles: no GPU",)


def test_a_row_without_pydantic(machine, jobs, tmp_path):
    assert program.main(jobs) == 0
    record = json.loads((tmp_path / "second.out.json").read_text())
    wall = record["processes"][0]["wall"]
    assert abs(sum(wall.values()) - record["processes"][0]["seconds"]) < 1e-3
    assert wall["turns"] > 0
    assert record["import_seconds"] >= 0


def test_a_gpu_in_use_is_3_and_no_record(machine, jobs, tmp_path, monkeypatch, capsys):
    machine.busy = 1
    monkeypatch.setattr(exclusive.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(exclusive.require_alone, "__defaults__", (1.0, lambda seconds: None))
    assert program.main(jobs) == 3
    assert "is in use: 1 other process" in capsys.readouterr().err
    assert not (tmp_path / "first.out.json").exists()


def test_preloading_that_spoils_the_fork_starts_again_without(machine, jobs, monkeypatch):
    calls = []

    def refuse(choice):
        raise exclusive.NoDevice("Cannot re-initialize CUDA in forked subprocess")

    monkeypatch.setattr(benchmark_run, "open_cuda", refuse)
    monkeypatch.setattr(program, "modules_for", lambda comparison: ["json"])
    monkeypatch.setattr(program, "start_again_without", lambda *arguments: calls.append(arguments))
    assert program.main(jobs) == 3
    assert calls == [(["json"], jobs)]

"""python -m assay.device with several jobs: one start, one lock, fresh processes."""

import contextlib
import dataclasses
import json
import sys
from pathlib import Path

import pytest
import torch

from assay.device import __main__ as program
from assay.device.tasks import benchmark as benchmark_run
from assay.device.tasks import profile
from assay.device.worker import locks as exclusive
from assay.device.worker import preload
from assay.device.worker.batch import failure_path, one_kind, run_row
from assay.shared import gpu_locks
from assay.shared.errors import BadJob, DeviceError, NoDevice
from assay.shared.job import Job, Target
from tests.device.helpers import HostStopwatch
from tests.device.worker.test_telemetry import FakeNvml
from tests.shared.test_job import job_document

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
    monkeypatch.setenv(gpu_locks.VARIABLE, str(tmp_path))
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


class TestEachJobByItself:
    """A job that fails leaves its sentence; the others their records."""

    @pytest.fixture
    def row(self, tmp_path):
        return [
            Job("benchmark", Target("h100", "H100"), tmp_path / f"{name}.json", {"name": name})
            for name in "abc"
        ]

    def perform(self, **troubles):
        def one(job):
            if (trouble := troubles.get(job.document["name"])) is not None:
                raise trouble
            return {"done": job.document["name"]}

        return one

    @pytest.mark.parametrize("trouble", [DeviceError("no good"), KeyError("no good")])
    def test_one_that_fails(self, row, trouble, capsys):
        assert run_row(row, self.perform(b=trouble)) == 1
        assert json.loads(row[2].output.read_text()) == {"done": "c"}
        assert not row[1].output.exists()
        assert "no good" in json.loads(failure_path(row[1].output).read_text())["message"]
        assert "no good" in capsys.readouterr().err

    def test_a_gpu_that_is_lost_ends_the_row(self, row):
        with pytest.raises(NoDevice):
            run_row(row, self.perform(b=NoDevice("gone")))
        assert row[0].output.exists()
        assert not row[2].output.exists()
        assert not any(failure_path(job.output).exists() for job in row)

    def test_an_old_word_of_failure_is_taken_away(self, row):
        failure_path(row[0].output).write_text("{}")
        assert run_row(row, self.perform()) == 0
        assert not failure_path(row[0].output).exists()

    def test_a_failure_is_told_with_its_number_before_it_is_left(self, row):
        told = []
        run_row(row, self.perform(c=DeviceError("x")), lambda error, number: told.append(number))
        assert told == [2]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"task": "profile"}, "one task: benchmark, profile"),
            ({"target": Target("l4", "L4")}, "one target: h100, l4"),
            ({"output": "a"}, "write to one place"),
        ],
    )
    def test_a_row_is_of_one_kind(self, row, change, words):
        if "output" in change:
            change = {"output": row[0].output}
        with pytest.raises(BadJob, match=words):
            one_kind([*row, dataclasses.replace(row[1], **change)])
        one_kind(row)


def test_a_comparison_that_cannot_be_measured_leaves_the_other_its_record(
    machine, jobs, tmp_path, capfd
):
    first = json.loads((tmp_path / "first.json").read_text())
    del first["timed"]
    (tmp_path / "first.json").write_text(json.dumps(first))
    assert program.main(jobs) == 1
    assert not (tmp_path / "first.out.json").exists()
    words = json.loads((tmp_path / "first.out.json.failure.json").read_text())["message"]
    assert words == "job lacks 'timed'"
    assert (tmp_path / "second.out.json").exists()


def test_the_lock_is_held_from_the_first_job_to_the_last(machine, jobs, monkeypatch):
    events = []
    hold = program.hold_gpu

    @contextlib.contextmanager
    def watched(uuid):
        events.append("locked")
        with hold(uuid) as lock:
            yield dataclasses.replace(lock, waited_s=3.0)
        events.append("released")

    def run(job, *rest):
        events.append(job.output.name)
        return {}

    monkeypatch.setattr(program, "hold_gpu", watched)
    monkeypatch.setattr(benchmark_run, "run_benchmark", run)
    assert program.main(jobs) == 0
    assert events == ["locked", "first.out.json", "second.out.json", "released"]
    waited = [
        json.loads(path.read_text())["exclusivity"]["waited_s"]
        for path in sorted(Path(jobs[0]).parent.glob("*.out.json"))
    ]
    assert waited == [3.0, 0.0]


def test_arms_of_a_profile_share_a_process_that_is_asked_once_whether_it_is_alone(
    machine, jobs, tmp_path, monkeypatch
):
    calls, asked = [], []
    for path in jobs:
        document = json.loads(Path(path).read_text())
        Path(path).write_text(json.dumps({**document, "task": "profile", "arm": "ours"}))
    monkeypatch.setattr(profile, "DEVICE", "cpu")
    monkeypatch.setattr(profile, "open_cuda", lambda choice: calls.append("open"))
    monkeypatch.setattr(profile, "mark", lambda: calls.append("mark"))
    for name in ("start", "stop"):
        monkeypatch.setattr(torch.cuda.profiler, name, lambda name=name: calls.append(name))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: "open" in calls)
    alone = program.require_alone
    monkeypatch.setattr(
        program, "require_alone", lambda *given: asked.append("asked") or alone(*given)
    )
    assert program.main(jobs) == 0
    assert calls == ["open", "start", "mark", "stop"] * 2
    assert asked == ["asked"]
    assert json.loads((tmp_path / "second.out.json").read_text()) == {"ok": True, "detail": ""}

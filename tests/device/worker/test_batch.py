"""python -m assay.device with several jobs: one start, one lock, fresh processes."""

import json
import os
import py_compile
import subprocess
import sys

import pytest
import torch

from assay.device import __main__ as program
from assay.device.__main__ import run_batch
from assay.device.tasks import correctness
from assay.device.worker import locks as exclusive
from assay.device.worker import preload
from assay.shared import gpu_locks
from assay.shared.errors import BadJob, DeviceError, NoDevice
from assay.shared.job import CorrectnessJob
from assay.shared.job_file import QueuedJob, failure_path, read_failure, write_job
from assay.shared.specs import ArmSpec
from tests.device.helpers import on_the_cpu
from tests.device.worker.test_telemetry import FakeNvml
from tests.jobs import DENSE, PRODUCT, TARGET, benchmark, comparison


class Nvml(FakeNvml):
    def nvmlInit(self):  # noqa: N802
        pass

    def nvmlDeviceGetComputeRunningProcesses(self, handle):  # noqa: N802
        return []


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
    on_the_cpu(monkeypatch, correctness)
    return nvml


ARM = ArmSpec("ours", PRODUCT, DENSE, None)


@pytest.fixture
def jobs(tmp_path):
    return write_batch(tmp_path, benchmark(ARM), benchmark(ARM))


def write_batch(folder, *batch):
    paths = [folder / f"{name}.json" for name in ("first", "second")]
    for job, path in zip(batch, paths, strict=True):
        write_job(QueuedJob(job, path.with_suffix(".out.json")), path)
    return [str(path) for path in paths]


def test_each_job_has_a_record_that_says_the_gpu_was_its_own(machine, jobs, tmp_path, validated):
    assert program.main(jobs) == 0
    for name in ("first", "second"):
        document = json.loads((tmp_path / f"{name}.out.json").read_text())
        record = validated("BenchmarkRecord", document)
        assert len(record.processes) == 5
        assert record.exclusivity.other_processes == 0
        assert record.exclusivity.lock.endswith("assay-gpu-GPU-0000-0.lock")
        assert record.remarks == ("no cycles: no GPU",)


def test_gates_of_a_batch_are_ours_from_the_first_to_the_last(
    machine, monkeypatch, tmp_path, validated
):
    """What NVML lists once the arms are being checked side by side are our own processes."""
    seen = iter([[]])
    monkeypatch.setattr(
        machine, "nvmlDeviceGetComputeRunningProcesses", lambda handle: next(seen, ["a child"])
    )
    gates = [CorrectnessJob(TARGET, comparison(ARM, name=name), (1,)) for name in ("one", "two")]
    assert program.main(write_batch(tmp_path, *gates)) == 0
    for gate, name in zip(gates, ("first", "second"), strict=True):
        document = json.loads((tmp_path / f"{name}.out.json").read_text())
        record = validated("CorrectnessRecord", document)
        assert (record.comparison, record.arms[0].status) == (gate.comparison.id, "correct")
        assert record.on_gpu.seconds >= 0


class TestEachJobByItself:
    """A job that fails leaves its sentence; the others their records."""

    @pytest.fixture
    def batch(self, tmp_path):
        return [QueuedJob(benchmark(ARM, name=name), tmp_path / f"{name}.json") for name in "abc"]

    def perform(self, **troubles):
        def one(queued):
            name = queued.job.comparison.id
            if (trouble := troubles.get(name)) is not None:
                raise trouble
            return {"done": name}

        return one

    @pytest.mark.parametrize(
        ("trouble", "kind"),
        [
            (DeviceError("no good"), "failed"),
            (KeyError("no good"), "failed"),
            (BadJob("no good"), "bad_job"),
            (torch.OutOfMemoryError("no good"), "no_room"),
        ],
    )
    def test_one_that_fails(self, batch, trouble, kind, capsys):
        assert run_batch(batch, self.perform(b=trouble)) == 1
        assert json.loads(batch[2].output.read_text()) == {"done": "c"}
        assert not batch[1].output.exists()
        failure = read_failure(failure_path(batch[1].output))
        assert "no good" in failure.message
        assert failure.kind == kind
        assert "no good" in capsys.readouterr().err

    def test_a_gpu_that_is_lost_ends_the_row(self, batch):
        with pytest.raises(NoDevice):
            run_batch(batch, self.perform(b=NoDevice("gone")))
        assert batch[0].output.exists()
        assert not batch[2].output.exists()
        assert not any(failure_path(job.output).exists() for job in batch)


@pytest.mark.parametrize(
    ("looks", "touching"),
    [([True, True, True], None), ([False, False, False], None), ([False, False, True], "csv")],
)
def test_the_import_that_opens_the_gpu_is_named(monkeypatch, looks, touching):
    seen = iter(looks)
    monkeypatch.setattr(preload, "_holds_uvm", lambda: next(seen))
    monkeypatch.setattr(preload, "_child_is_in_bad_fork", lambda: False)
    assert preload.preload(["json", "csv"]) == touching


def test_a_projects_code_compiles_into_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv(preload.CACHE_VARIABLE, str(tmp_path))
    for _ in range(2):  # as after another start
        preload.keep_project_apart(tmp_path / "record.json")
        assert preload.compiled_folder(tmp_path / "record.json") == tmp_path / "project"


def test_each_start_leaves_out_what_the_ones_before_found(monkeypatch):
    monkeypatch.setenv(preload.SKIP_VARIABLE, "")
    started = []
    monkeypatch.setattr(preload.os, "execv", lambda _, command: started.append(command[-1]))
    for name in ("json", "csv"):
        preload.start_again_without(name, ["job.json"])
    assert preload.left_out() == ["json", "csv"]
    assert started == ["job.json", "job.json"]


class TestBytecode:
    @pytest.fixture
    def import_torch(self, tmp_path):
        """Import a module by this name in a new Python, for a job that keeps things in a folder."""
        packages = tmp_path / "packages"
        packages.mkdir()
        (packages / "torch.py").write_text("")

        def run(root):
            lines = (
                "from assay.device.worker.preload import keep_bytecode",
                "from pathlib import Path",
                f"keep_bytecode(Path({str(root)!r}))",
                "import torch",
            )
            paths = os.pathsep.join(map(str, (packages, *sys.path)))
            subprocess.run(
                [sys.executable, "-c", "\n".join(lines)],
                env={"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
                check=True,
            )

        return run

    def test_is_kept_beside_a_projects_folder_where_pytorch_has_none(self, import_torch, tmp_path):
        import_torch(tmp_path / "cache" / preload.PROJECT_FOLDER)
        (kept,) = (tmp_path / "cache" / "bytecode").rglob("torch.*.pyc")
        assert kept.is_file() and not (tmp_path / "packages" / "__pycache__").exists()

    def test_stays_where_pytorch_has_it(self, import_torch, tmp_path):
        py_compile.compile(str(tmp_path / "packages" / "torch.py"))
        import_torch(tmp_path / "cache")
        assert not (tmp_path / "cache").exists()

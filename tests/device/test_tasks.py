"""The tasks end to end on a CPU: only CUDA's first touch and its stopwatch are replaced."""

import importlib.metadata
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from assay.device.tasks import benchmark as benchmark_run
from assay.device.tasks import correctness, profile
from assay.shared.job import CorrectnessJob, ProfileJob
from assay.shared.specs import ArmSpec
from tests.device.helpers import HostStopwatch, SteadyGpu
from tests.jobs import DENSE, KERNEL, PRODUCT, SPARSE, TARGET, comparison


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    for module in (correctness, benchmark_run, profile):
        monkeypatch.setattr(module, "DEVICE", "cpu")
        monkeypatch.setattr(module, "open_cuda", lambda choice: None)
    monkeypatch.setattr(benchmark_run, "CudaStopwatch", lambda cold, counter: HostStopwatch())
    monkeypatch.setattr(benchmark_run, "open_counter", lambda: (None, "no cycles: no GPU"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)


COMPARED = replace(
    comparison(
        ArmSpec("ours", KERNEL, SPARSE, None),
        ArmSpec("first", PRODUCT, DENSE, None),
        ArmSpec("second", PRODUCT, DENSE, None),
    ),
    control="first",
)
"""A kernel whose library was not built, and two library arms that work on a CPU."""


def gate_job(*seeds):
    return CorrectnessJob(TARGET, COMPARED, seeds)


def test_correctness_record(validated):
    record = correctness.run_correctness(gate_job(1, 2), SteadyGpu())
    result = validated("CorrectnessRecord", record)
    assert [arm.status for arm in result.arms] == ["failed", "correct", "correct"]
    assert "no compiled library" in result.arms[0].detail
    assert len(result.arms[1].checks) == 8
    ours, library, _ = result.arms
    assert ours.packages is None
    assert library.packages is not None
    assert library.packages["torch"] == importlib.metadata.version("torch")


class TestSideBySide:
    """Arms of one comparison in the gate at one time."""

    @staticmethod
    def wait_for(path):
        end = time.monotonic() + 10.0
        while not path.exists():
            if time.monotonic() > end:
                raise TimeoutError(path.name)
            time.sleep(0.002)

    @pytest.fixture
    def gate(self, monkeypatch):
        """Run the gate with ``check(arm name)`` in place of an arm's checks."""
        monkeypatch.setattr(correctness.neighbours, "width", lambda: 3)

        def run(check):
            def check_arm(arm, seeds, device, prepare, note):
                check(arm.id)
                return {"status": "correct", "checks": [], "detail": arm.id}

            monkeypatch.setattr(correctness, "check_arm", check_arm)
            return correctness.run_correctness(gate_job(1), SteadyGpu())

        return run

    def test_all_at_once_and_recorded_in_the_order_of_the_comparison(self, gate, tmp_path, capfd):
        def check(name):
            (tmp_path / name).touch()
            for other in ("second", "first", "ours"):
                self.wait_for(tmp_path / other)

        record = gate(check)
        found = [(arm["arm"], arm["status"], arm["detail"]) for arm in record["arms"]]
        assert found == [(name, "correct", name) for name in ("ours", "first", "second")]
        lines = capfd.readouterr().err.splitlines()
        assert [line.split(",")[0] for line in lines] == [
            "[1/3] ours: correct",
            "[2/3] first: correct",
            "[3/3] second: correct",
        ]


class TestProfile:
    @pytest.fixture
    def calls(self, monkeypatch):
        calls = []
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        for name in ("start", "stop"):
            monkeypatch.setattr(torch.cuda.profiler, name, lambda name=name: calls.append(name))
        monkeypatch.setattr(profile, "mark", lambda: calls.append("mark"))
        return calls

    def test_a_launch_that_fails_behind_its_mark_is_told_with_it(self, calls, monkeypatch):
        def prepare(arm, inputs):
            def launch():
                if "mark" in calls:
                    raise RuntimeError("illegal address")

            return SimpleNamespace(launch=launch)

        monkeypatch.setattr(profile, "prepare_arm", prepare)
        done = profile.run_profile(ProfileJob(TARGET, COMPARED, "first"), SteadyGpu())
        assert done == {"ok": False, "detail": "arm 'first' cannot be profiled: illegal address"}
        assert calls == ["start", "mark", "stop"]

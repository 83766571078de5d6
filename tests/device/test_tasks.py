"""The tasks end to end on a CPU: only CUDA's first touch and its stopwatch are replaced."""

import importlib.metadata
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from assay.device.tasks import correctness, profile
from assay.shared.job import CorrectnessJob, ProfileJob
from assay.shared.specs import ArmSpec
from tests.device.helpers import SteadyGpu, on_the_cpu
from tests.jobs import DENSE, KERNEL, PRODUCT, SPARSE, TARGET, comparison


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch):
    on_the_cpu(monkeypatch, correctness, profile)


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
    (make,) = correctness.run_correctness([gate_job(1, 2)], SteadyGpu())
    record = make()
    result = validated("CorrectnessRecord", record)
    assert [arm.status for arm in result.arms] == ["failed", "correct", "correct"]
    assert "no compiled library" in result.arms[0].detail
    assert len(result.arms[1].checks) == 8
    ours, library, _ = result.arms
    assert ours.packages is None
    assert library.packages["torch"] == importlib.metadata.version("torch")


def test_arms_of_all_comparisons_are_checked_side_by_side(monkeypatch, tmp_path):
    other = replace(COMPARED, id="other", arms=(replace(COMPARED.arms[1], id="beside"),))
    jobs = [gate_job(1), replace(gate_job(1), comparison=replace(other, control="beside"))]
    names = [[arm.id for arm in job.comparison.arms] for job in jobs]
    every = [name for each in names for name in each]

    def check_arm(arm, seeds, device, prepare, note):
        (tmp_path / arm.id).touch()
        end = time.monotonic() + 10.0
        while not all((tmp_path / name).exists() for name in every):
            assert time.monotonic() < end
            time.sleep(0.002)
        return {"status": "correct", "checks": [], "detail": arm.id}

    monkeypatch.setattr(correctness.forks, "width", lambda: 4)
    monkeypatch.setattr(correctness, "check_arm", check_arm)
    records = [make() for make in correctness.run_correctness(jobs, SteadyGpu())]
    assert [record["comparison"] for record in records] == [COMPARED.id, "other"]
    found = [[(arm["arm"], arm["detail"]) for arm in record["arms"]] for record in records]
    assert found == [[(name, name) for name in each] for each in names]


def test_a_launch_that_fails_behind_its_mark_is_told_with_it(monkeypatch):
    calls = []
    for name in ("start", "stop"):
        monkeypatch.setattr(torch.cuda.profiler, name, lambda name=name: calls.append(name))
    monkeypatch.setattr(profile, "mark", lambda: calls.append("mark"))

    def launch():
        if "mark" in calls:
            raise RuntimeError("illegal address")

    monkeypatch.setattr(profile, "prepare_arm", lambda *_: SimpleNamespace(launch=launch))
    done = profile.run_profile(ProfileJob(TARGET, COMPARED, "first"), SteadyGpu())
    assert not done["ok"] and "illegal address" in done["detail"]
    assert calls == ["start", "mark", "stop"]

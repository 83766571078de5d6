"""nvbench: a second time, or a status that says why there is none."""

from types import SimpleNamespace

import pytest

from assay.device.tasks import nvbench
from assay.device.tasks.nvbench import Cold, parse_summaries, run_stopwatch
from assay.shared.job import StopwatchJob
from assay.shared.specs import ComparisonSpec
from tests.device.helpers import SteadyGpu, dense_workload, make_arm, on_the_cpu
from tests.jobs import TARGET

ARMS = (make_arm("cublas_dense", dense_workload()), make_arm("nonsense", dense_workload()))


def summary(tag, value):
    return {"tag": tag, "data": [{"name": "value", "type": "float64", "value": value}]}


def document(*summaries):
    return {"benchmarks": [{"states": [{"summaries": list(summaries)}]}]}


def test_the_median_is_preferred():
    found = parse_summaries(
        document(
            summary("nv/cold/time/gpu/mean", "0.002"),
            summary("nv/cold/time/gpu/median", "0.0015"),
            summary("nv/cold/sample_size", "499"),
            summary("nv/cold/sm_clock_rate/mean", "1755000000"),
        )
    )
    assert found == Cold(1.5, "median", 499, 1755.0)
    skipped = {"benchmarks": [{"states": [{"summaries": None}]}]}
    assert parse_summaries(skipped) is None


@pytest.fixture
def stopwatch(monkeypatch):
    on_the_cpu(monkeypatch, nvbench)
    names = tuple(arm.id for arm in ARMS)
    job = StopwatchJob(TARGET, ComparisonSpec("c", names[0], ARMS), names)

    def run(version):
        monkeypatch.setattr(nvbench, "installed_version", lambda: version)
        return run_stopwatch(job, SteadyGpu("GPU-0"))

    return run


def test_without_the_package_every_arm_says_so(stopwatch, validated):
    record = stopwatch(None)
    assert {arm["status"] for arm in record["arms"]} == {"not_installed"}
    assert validated("StopwatchRecord", record).nvbench is None


def test_an_arm_that_fails_leaves_the_others_alone(stopwatch, monkeypatch, validated):
    def time_arm(package, arm, note):
        if arm.id == "nonsense":
            note("nvbench")
            raise RuntimeError("blocking kernel timed out")
        return {
            "events_median_ms": 1.0,
            "nvbench_cold_ms": 1.01,
            "nvbench_statistic": "mean",
            "nvbench_samples": 9,
            "nvbench_clock_mhz": None,
        }

    monkeypatch.setattr(nvbench, "time_arm", time_arm)
    monkeypatch.setattr(nvbench, "load_package", SimpleNamespace)
    record = stopwatch("0.3.0")
    validated("StopwatchRecord", record)
    good, bad = record["arms"]
    assert (good["status"], good["nvbench_cold_ms"]) == ("collected", 1.01)
    assert bad["status"] == "failed"
    assert bad["detail"] == "nvbench: RuntimeError: blocking kernel timed out"
    assert bad["nvbench_cold_ms"] is None

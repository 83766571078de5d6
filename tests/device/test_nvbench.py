"""assay.device.nvbench: a second time, or a status that says why there is none."""

from types import SimpleNamespace

import pytest

from assay.device import nvbench
from assay.device.jobs import Comparison, Job, Target
from assay.device.nvbench import parse_summaries, run_stopwatch
from assay.device.telemetry import Choice
from tests.device.helpers import dense_workload, make_arm

ARMS = (make_arm("cublas_dense", dense_workload()), make_arm("nonsense", dense_workload()))


def summary(tag, value):
    return {"tag": tag, "data": [{"name": "value", "type": "float64", "value": value}]}


def document(*summaries):
    return {"benchmarks": [{"states": [{"summaries": list(summaries)}]}]}


class TestParse:
    def test_prefers_the_median(self):
        found = parse_summaries(
            document(
                summary("nv/cold/time/gpu/mean", "0.002"),
                summary("nv/cold/time/gpu/median", "0.0015"),
                summary("nv/cold/sample_size", "499"),
            )
        )
        assert found == (1.5, "median", 499)

    def test_takes_the_mean_of_an_older_version(self):
        found = parse_summaries(document(summary("nv/cold/time/gpu/mean", "0.002")))
        assert found == (2.0, "mean", 0)

    def test_a_skipped_state_has_no_time(self):
        assert parse_summaries({"benchmarks": [{"states": [{"summaries": None}]}]}) is None


@pytest.fixture
def stopwatch(monkeypatch, tmp_path):
    monkeypatch.setattr(nvbench, "open_cuda", lambda choice: None)
    monkeypatch.setattr(nvbench, "DEVICE", "cpu")
    monkeypatch.setattr(nvbench.importlib.metadata, "version", lambda name: "0.3.0")
    job = Job("stopwatch", Target("h100", "x"), tmp_path / "o", {"timed": [a.id for a in ARMS]})

    def run(package):
        monkeypatch.setattr(nvbench, "find_package", lambda: package)
        return run_stopwatch(job, Comparison("c", "a", ARMS), Choice(0, "GPU-0", "x"))

    return run


def test_without_the_package_every_arm_says_so(stopwatch, validated):
    record = stopwatch(None)
    assert {arm["status"] for arm in record["arms"]} == {"not_installed"}
    assert validated("StopwatchRecord", record).nvbench is None


def test_an_arm_that_fails_leaves_the_others_alone(stopwatch, monkeypatch):
    def time_arm(package, arm, note):
        if arm.id == "nonsense":
            note("nvbench")
            raise RuntimeError("blocking kernel timed out")
        return {
            "events_median_ms": 1.0,
            "nvbench_cold_ms": 1.01,
            "nvbench_statistic": "mean",
            "nvbench_samples": 9,
        }

    monkeypatch.setattr(nvbench, "time_arm", time_arm)
    good, bad = stopwatch(SimpleNamespace())["arms"]
    assert (good["status"], good["nvbench_cold_ms"]) == ("collected", 1.01)
    assert bad["status"] == "failed"
    assert bad["detail"] == "nvbench: RuntimeError: blocking kernel timed out"
    assert bad["nvbench_cold_ms"] is None

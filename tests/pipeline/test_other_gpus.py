"""A machine with several GPUs: a run measures on one."""

from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.records.measurements import BenchmarkRecord
from assay.records.timings import StepTiming
from tests.library_checkout import REPOSITORY
from tests.pipeline.box import H100S, H200, NAMES, Box


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "src"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


def test_the_gpu_that_is_offered_measures_all(environment: Path) -> None:
    box = Box(environment, {"h100": H100S[:2]})
    box.measure(h100=H100S[1:2])
    assert sorted(box.units()) == sorted(
        (task, name, H100S[1]) for task in ("correctness", "benchmark") for name in NAMES
    )
    timing = read_record(StepTiming, box.results / "timings" / "benchmark.h100.json")
    assert timing.gpus.keys() == {H100S[1]}
    assert 0 < timing.gpus[H100S[1]] <= timing.seconds
    assert box.refusals() == []


def test_each_of_two_products_is_its_own_target(environment: Path) -> None:
    box = Box(environment, {"h100": H100S[:1], "h200": (H200,)})
    box.measure()
    assert set(box.records(BenchmarkRecord, "benchmark").values()) == {H100S[0]}
    assert set(box.records(BenchmarkRecord, "benchmark", "h200").values()) == {H200}
    assert box.refusals() == []

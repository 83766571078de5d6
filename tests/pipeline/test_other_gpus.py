"""A machine with several GPUs: one is measured on at a time, and a run goes on on another."""

from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.base.io import read_record
from assay.evidence.stages import PLATFORMS
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord
from assay.records.platform import PlatformRecord
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


def test_a_run_goes_on_on_another(environment: Path) -> None:
    box = Box(environment, {"h100": H100S[:2]})
    box.say("lost", "benchmark.duel_c")
    with pytest.raises(MissingEnvironment, match="fallen off the bus"):
        box.measure(h100=H100S[:1])
    timed = {name for task, name, _ in box.units() if task == "benchmark"} - {"duel_c"}
    # What the first had checked and not timed is checked again; what it timed stays.
    box.measure(h100=H100S[1:2])
    left = sorted(set(NAMES) - timed)
    assert timed
    assert sorted(box.units()) == sorted(
        (task, name, H100S[1]) for task in ("correctness", "benchmark") for name in left
    )
    of = box.records(BenchmarkRecord, "benchmark")
    assert of == {name: H100S[0 if name in timed else 1] for name in NAMES}
    assert of == box.records(CorrectnessRecord, "correctness")
    platform = read_record(PlatformRecord, box.results / PLATFORMS.path("h100"))
    assert [device.gpu.uuid for device in platform.devices] == list(H100S[:2])
    assert box.refusals() == []


def test_each_of_two_products_is_its_own_target(environment: Path) -> None:
    box = Box(environment, {"h100": H100S[:1], "h200": (H200,)})
    box.measure()
    assert set(box.records(BenchmarkRecord, "benchmark").values()) == {H100S[0]}
    assert set(box.records(BenchmarkRecord, "benchmark", "h200").values()) == {H200}
    assert box.refusals() == []

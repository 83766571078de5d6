"""cheats: every cheat is caught by what is meant for it, and the honest kernel is not.

Those that need a GPU's streams run in the task ``cheats`` on one, which writes a record.
"""

import dataclasses
import time

import pytest
import torch

from assay.device.tasks import cheats
from assay.device.tasks.cheats import CHEATS, WORKLOAD, run_cheats, try_cheat
from assay.device.tasks.published_cheats import MODES, PATCHES
from assay.device.timing import bench_process
from assay.device.timing.bench_process import _remarks
from assay.device.worker.harness_guard import HarnessGuard
from assay.shared.job import CheatsJob
from tests.device.helpers import HostStopwatch, SteadyGpu, on_the_cpu, protocol
from tests.jobs import TARGET

SMALL = dataclasses.replace(WORKLOAD, m=64, n=128, k=96)
ON_THE_HOST = [name for name, cheat in CHEATS.items() if not cheat.needs_gpu]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for owner, name, _ in PATCHES.values():  # so that they are put back
        monkeypatch.setattr(owner, name, getattr(owner, name))
    yield
    while MODES:
        MODES.pop().__exit__(None, None, None)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    rules = protocol(blocks=4, samples=4, checked_turns=0.5)
    monkeypatch.setattr(cheats, "PROTOCOL", rules)


@pytest.mark.parametrize("name", ON_THE_HOST)
def test_caught_for_the_right_reason(name, validated_if_possible):
    outcome = try_cheat(name, SMALL, "cpu", HostStopwatch(), lambda note: None)
    assert outcome["as_meant"], outcome
    validated_if_possible("CheatOutcome", outcome)


class PutBack(HostStopwatch):
    """When a turn ends, the clock is as it was."""

    def turn(self, *given, clock=time.perf_counter, **named):
        timing = super().turn(*given, **named)
        time.perf_counter = clock
        return timing


@pytest.mark.parametrize("stopwatch", [HostStopwatch, PutBack])
def test_a_patch_that_is_put_back_later_is_seen(monkeypatch, stopwatch):
    """It stands within some timed turns; when the process ends all is as it was."""
    honest, clock, calls = CHEATS["honest"].prepare, time.perf_counter, []

    def prepare(inputs):
        prepared = honest(inputs)

        def launch():
            calls.append(1)
            time.perf_counter = (lambda: 0.0) if 10 < len(calls) < 30 else clock
            return prepared.launch()

        return dataclasses.replace(prepared, launch=launch)

    monkeypatch.setitem(CHEATS, "honest", cheats.Cheat("patches for a while", prepare))
    outcome = try_cheat("honest", SMALL, "cpu", stopwatch(), lambda note: None)
    assert len(calls) > 40
    assert time.perf_counter is clock
    assert "time.perf_counter" in outcome["timed_run"]


def test_settings_that_the_reference_runs_under_are_told(monkeypatch):
    guard = HarnessGuard()
    assert list(_remarks(guard, None)) == []
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", not torch.backends.cudnn.benchmark)
    (remark,) = _remarks(guard, None)
    assert "torch.backends.cudnn.benchmark" in remark
    assert guard.changed() == []


@pytest.mark.parametrize(("now", "told"), [(0, 0), (1 << 20, 0), (60 << 20, 1)])
def test_persisting_l2_is_told_where_a_projects_code_set_more_aside(monkeypatch, now, told):
    monkeypatch.setattr(bench_process, "persisting_bytes", lambda: now)
    assert len(list(_remarks(HarnessGuard(), 1 << 20))) == told


@pytest.fixture
def validated_if_possible(request):
    """The record's model holds it, where this Python has pydantic."""
    import importlib.util

    if importlib.util.find_spec("pydantic"):
        return request.getfixturevalue("validated")
    return lambda name, value: None


def test_the_record_names_a_cheat_that_could_not_run(monkeypatch, validated_if_possible):
    on_the_cpu(monkeypatch, cheats)
    chosen = {name: CHEATS[name] for name in ("honest", "other_stream")}
    monkeypatch.setattr(cheats, "CHEATS", chosen)
    monkeypatch.setattr(cheats, "WORKLOAD", SMALL)
    monkeypatch.setattr(cheats, "CudaStopwatch", lambda cold: HostStopwatch())
    record = run_cheats(CheatsJob(TARGET), SteadyGpu("GPU-0"))
    validated_if_possible("CheatsRecord", record)
    by_name = {outcome["name"]: outcome for outcome in record["cheats"]}
    assert by_name["honest"]["as_meant"]
    assert not by_name["other_stream"]["as_meant"]
    assert "CUDA" in by_name["other_stream"]["timed_run"]
    assert by_name["other_stream"]["ended"] is False

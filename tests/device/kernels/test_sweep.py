"""sweep: what is tried is told, the fastest wins, and a run sweeps a workload once."""

from dataclasses import replace

import pytest

from assay.device.kernels import sweep
from assay.device.kernels.bsr_rivals import neighbours
from assay.device.kernels.inputs import make_inputs
from assay.device.kernels.sweep import Tried, Walk, sweep_grid
from tests.device.helpers import bsr_workload

GRID = [{"stages": stages} for stages in range(1, 8)]


class Machine:
    """A GPU on which a launch takes as many ms as it has stages, and six do not fit."""

    def __init__(self, final=None):
        self.final = final or {}
        self.last = None
        self.measured = []

    def launch(self, settings):
        if settings["stages"] == 6:
            raise MemoryError("out of resource: shared memory\nof which there is little")
        self.last = settings

    def measure(self, launch, fill_ms):
        launch()
        stages = self.last["stages"]
        self.measured.append((stages, fill_ms))
        return float(self.final.get(stages, stages) if fill_ms == sweep.FINAL_MS else stages)


def test_the_fastest_few_that_run_are_timed_longer_and_that_decides():
    machine = Machine(final={1: 2.5, 2: 2.0})
    swept = sweep_grid(GRID, machine.launch, machine.measure)
    screened = swept.tried[: len(GRID)]
    assert [one.settings for one in screened] == GRID
    assert screened[5] == Tried({"stages": 6}, None, "MemoryError: out of resource: shared memory")
    assert [one.ms for one in screened if one.ms] == [1, 2, 3, 4, 5, 7]
    again = [stages for stages, ms in machine.measured if ms == sweep.FINAL_MS]
    assert again == [1, 2, 3, 4]
    assert swept.chosen == {"stages": 2}


def test_who_is_alone_sweeps_and_later_ones_take_it_over(tmp_path, monkeypatch):
    monkeypatch.setenv(sweep.SWEEPS_VARIABLE, str(tmp_path))
    made = []

    def make():
        made.append(1)
        machine = Machine()
        return sweep_grid(GRID, machine.launch, machine.measure)

    problem = make_inputs(bsr_workload(), "cpu", 1)
    assert sweep.swept_once("rival", problem, make) is None
    monkeypatch.setattr(sweep._Alone, "sweeps", True)
    first = sweep.swept_once("rival", problem, make)
    assert first is not None
    monkeypatch.setattr(sweep._Alone, "sweeps", False)
    assert sweep.swept_once("rival", problem, make) == first
    other = replace(problem, workload=bsr_workload(relative_tolerance=0.5))
    assert sweep.swept_once("rival", other, make) is None
    assert len(made) == 1


def test_a_walk_keeps_what_its_tuner_chose():
    machine = Machine()
    walk = Walk(machine.launch, machine.measure)
    walk.time({"stages": 3}, 1.0)
    with pytest.raises(RuntimeError, match="out of resource"):
        walk.time({"stages": 6}, 1.0)
    walk.time({"stages": 2}, 1.0)
    swept = walk.finish("theirs", 0.0, {"stages": 3})
    assert (swept.search, swept.chosen) == ("theirs", {"stages": 3})
    assert [one.settings["stages"] for one in swept.tried] == [3, 6, 2]


def test_the_neighbours_are_those_that_torchs_tuner_asks_for():
    minimize = pytest.importorskip("torch.sparse._triton_ops_meta").minimize
    start = {"SPLIT_N": 8.0, "num_stages": 4.0}
    asked = []

    def step(name, value, by, _settings):
        return value * 2**by if name == "SPLIT_N" else value + by

    def target(settings):
        asked.append(settings)
        return 1.0 + 0.1 * (settings != start)

    minimize(target, start, start, step, max_step=2)
    found = neighbours(start, step, 2)
    assert {tuple(one.items()) for one in asked[2:]} == {tuple(one.items()) for one in found}
    assert len(found) == 12

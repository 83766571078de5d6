"""sweep: what is tried is told, the fastest wins, and a run sweeps a workload once."""

from dataclasses import replace
from functools import partial

import pytest

from assay.device.kernels import bsr_rivals, sweep
from assay.device.kernels.bsr_rivals import neighbours, require_room_for_sums
from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.sweep import Tried, Walk, sweep_grid
from assay.shared.errors import Unsupported
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


class Torchao:
    """The shape of torchao's tuner: it hands a target to PyTorch's ``minimize``."""

    START = {"SPLIT_N": 8, "num_stages": 4}

    def __init__(self, minimize):
        self.minimize = minimize

    def step(self, name, value, by, _settings):
        return max(1, int(value * 2**by) if name == "SPLIT_N" else value + by)

    def tune_bsr_dense_addmm(self, *_problem, **_options):
        meta, *_ = self.minimize(
            None, self.START, dict(self.START), self.step, max_step=2, verbose=False
        )
        return meta


def test_torchaos_tuner_walks_over_what_was_compiled(monkeypatch):
    minimize = pytest.importorskip("torch.sparse._triton_ops_meta").minimize
    launched = []

    def measure(launch, _fill_ms):
        launch()
        return 1.0 + 0.1 * (launched[-1] != Torchao.START)

    monkeypatch.setattr(bsr_rivals, "Walk", partial(Walk, measure=measure))
    library = Torchao(minimize)
    swept = bsr_rivals._walked(library, launched.append, None, None, None)
    assert library.minimize is minimize
    assert swept.chosen == Torchao.START
    around = [Torchao.START, *neighbours(Torchao.START, library.step, 2)]
    assert len(around) == 13
    assert all(settings in launched[: len(around)] for settings in around)
    assert launched[len(around)] == Torchao.START  # the first that is timed
    assert all(settings in around for settings in (one.settings for one in swept.tried))
    assert len({str(one.settings) for one in swept.tried}) == len(around)


@pytest.mark.parametrize(
    ("rows", "width", "warps", "fits"),
    [(128, 256, 8, True), (128, 256, 4, False), (128, 128, 2, False), (128, 512, 16, False)],
)
def test_sums_that_exceed_the_registers_are_not_compiled(rows, width, warps, fits):
    meta = {"SPLIT_N": 8192 // width, "num_warps": warps}
    if fits:
        require_room_for_sums(meta, rows, 8192)
    else:
        with pytest.raises(Unsupported, match="registers"):
            require_room_for_sums(meta, rows, 8192)

"""bsr_rivals: stand-ins show how the libraries are called, and what they give is the product."""

import sys
import types

import pytest

from assay.device.kernels import bsr_rivals, sweep
from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.bsr_rivals import TORCH_OPS
from assay.device.kernels.inputs import fill, make_inputs
from assay.device.kernels.oracles import measure_errors, oracle
from assay.device.worker.preload import SWEEPS_VARIABLE
from assay.shared.specs import PatternSpec
from tests.device.helpers import bsr_workload


@pytest.fixture(autouse=True)
def _another_process(monkeypatch):
    monkeypatch.setattr(sweep, "_MADE_HERE", {})


SQUARE = PatternSpec("random", 16, 16, 2)
WIDE = bsr_workload(n=256, pattern=SQUARE)


class StandIn:
    """``bsr_dense_addmm`` in plain PyTorch; wide tiles with four stages do not fit."""

    def __init__(self):
        self.metas = []

    def bsr_dense_addmm(self, added, bsr, dense, *, beta, alpha, out, meta):
        assert (beta, alpha) == (0, 1)
        assert added is out
        self.metas.append(meta)
        if meta["num_stages"] == 4 and meta["SPLIT_N"] == 1:
            raise RuntimeError("out of resource: shared memory")
        out.copy_(bsr.to_dense().float() @ dense.float())
        return out

    def ms(self, launch, _fill_ms):
        launch()
        meta = self.metas[-1]
        return 1.0 + abs(meta["num_stages"] - 3) + abs(meta["num_warps"] - 8) + meta["SPLIT_N"]


@pytest.fixture
def stand_in(monkeypatch):
    """PyTorch's Triton operators as they are on a GPU, and a stopwatch."""
    monkeypatch.delenv(SWEEPS_VARIABLE, raising=False)
    made = StandIn()
    module = types.ModuleType(TORCH_OPS)
    module.bsr_dense_mm = module.bsr_dense_addmm = made.bsr_dense_addmm
    monkeypatch.setitem(sys.modules, TORCH_OPS, module)
    monkeypatch.setattr(bsr_rivals, "sweep_grid",
                        lambda tried, launch: sweep.sweep_grid(tried, launch, made.ms))  # fmt: skip
    monkeypatch.setattr(bsr_rivals, "Walk", lambda launch: sweep.Walk(launch, made.ms))
    return made


def right(prepared, inputs):
    output = prepared.arranged(prepared.launch())
    return measure_errors(output, oracle(inputs)).within(inputs.workload)


class TestTorchTuned:
    def test_runs_the_fastest_of_what_it_tried(self, stand_in):
        inputs = make_inputs(WIDE, "cpu", 1)
        prepared = prepare_library("torch_bsr_tuned", inputs)
        assert prepared.swept.chosen == {
            "SPLIT_N": 1, "GROUP_SIZE_ROW": 4, "num_stages": 3, "num_warps": 8,
        }  # fmt: skip
        refused = [one for one in prepared.swept.tried if one.refused]
        assert {(one.settings["num_stages"], one.settings["SPLIT_N"]) for one in refused} == {
            (4, 1)
        }
        fill(inputs, 2)
        assert right(prepared, inputs)
        assert stand_in.metas[-1] == prepared.swept.chosen

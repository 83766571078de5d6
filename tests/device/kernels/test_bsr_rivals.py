"""bsr_rivals: stand-ins show how the libraries are called, and what they give is the product."""

import sys
import types

import pytest
import torch

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
SPARSE_B = bsr_workload(operation="bsr_bsr_gemm", n=48, pattern=SQUARE, pattern_b=SQUARE)


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


class TestTorchao:
    NAME = "torchao.kernel.bsr_triton_ops"

    @pytest.fixture
    def installed(self, stand_in, monkeypatch):
        """A tuner that goes from setting to setting, as torchao's does by ``minimize``."""
        for name in ("torchao", "torchao.kernel"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        module = types.ModuleType(self.NAME)
        module.bsr_dense_addmm = stand_in.bsr_dense_addmm
        base = {"SPLIT_N": 2, "GROUP_SIZE_ROW": 1, "num_stages": 4, "num_warps": 4}

        def minimize(target, initial, _reference, step, max_step, verbose):
            assert (max_step, verbose) == (2, False)
            found = {8: target(step(initial, 8)), 4: target(initial)}
            with pytest.raises(RuntimeError, match="resource"):
                target({**initial, "SPLIT_N": 1})
            return step(initial, min(found, key=found.get)), 1.0, 1.0, ""

        def tune(_added, _bsr, _dense, *, beta, alpha, out, store, force):
            assert (beta, alpha, store, force, out.shape) == (0, 1, False, True, (64, 256))

            def step(meta, warps):
                return {**meta, "num_warps": warps}

            return module.minimize(None, base, base, step, max_step=2, verbose=False)[0]

        module.minimize, module.tune_bsr_dense_addmm = minimize, tune
        monkeypatch.setitem(sys.modules, self.NAME, module)
        return module

    def test_its_own_tuner_picks_and_all_that_it_tried_is_told(self, installed):
        before = installed.minimize
        inputs = make_inputs(WIDE, "cpu", 1)
        prepared = prepare_library("torchao_bsr", inputs)
        assert prepared.swept.search == "tune_bsr_dense_addmm"
        assert prepared.swept.chosen["num_warps"] == 8
        assert [one.ms is None for one in prepared.swept.tried] == [False, False, True]
        assert right(prepared, inputs)
        assert installed.minimize is before


class TestBlksprs:
    @pytest.fixture
    def installed(self, monkeypatch):
        """The library's way of keeping matrices: stored blocks, and which they are."""
        seen = {"validates": True, "layouts": []}

        def whole(blocks, layout, side):
            dense = torch.zeros(layout.shape[1], layout.shape[2], side, side)
            dense[layout[0]] = blocks.float()
            return dense.transpose(1, 2).reshape(layout.shape[1] * side, -1)

        def matmul(x, layout_x, y, layout_y, layout_out, side, cache):
            cache["used"] = cache.get("used", 0) + 1
            seen["cache"] = cache
            assert not seen["validates"]
            product = whole(x, layout_x, side) @ whole(y, layout_y, side)
            rows, cols = layout_out.shape[1:]
            tiles = product.view(rows, side, cols, side).transpose(1, 2)
            return tiles[layout_out[0]].to(x.dtype)

        library = types.ModuleType("blksprs")
        library.ops = types.SimpleNamespace(matmul=matmul)
        library.utils = types.SimpleNamespace(
            disable_validation=lambda: seen.update(validates=False)
        )
        options = [
            types.SimpleNamespace(kwargs={"TRITON_BLOCK_SIZE": 16}, num_stages=3, num_warps=warps)
            for warps in (4, 8)
        ]
        kernel = types.SimpleNamespace(
            configs_timings={_Key(0): [2.0, 1.9, 2.1], _Key(1): float("inf")},
            best_config=options[0],
        )
        for key, option in zip(kernel.configs_timings, options, strict=True):
            vars(key).update(vars(option))
        operator = types.ModuleType("blksprs.ops.matmul")
        operator.matmul_kernel = kernel
        monkeypatch.setitem(sys.modules, "blksprs", library)
        monkeypatch.setitem(sys.modules, "blksprs.ops", types.ModuleType("blksprs.ops"))
        monkeypatch.setitem(sys.modules, "blksprs.ops.matmul", operator)
        return seen

    def test_its_blocks_become_the_product(self, installed):
        inputs = make_inputs(SPARSE_B, "cpu", 1)
        prepared = prepare_library("blksprs", inputs)
        assert prepared.launch().shape == (12, 16, 16)
        fill(inputs, 2)
        assert right(prepared, inputs)
        assert installed["cache"]["used"] == 3


class _Key:
    """A configuration as the autotuner's own are: hashed by identity."""

    def __init__(self, number):
        self.number = number

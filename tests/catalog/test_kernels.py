"""kernels/: manifests that load, sources that exist, stages as published, and the CPU oracle."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from assay.base.io import load_yaml
from assay.records.kernels import KernelManifest, Variant

KERNELS = Path(__file__).parents[2] / "kernels"
MANIFESTS = {path.parent.name: path for path in sorted(KERNELS.glob("*/kernel.yaml"))}


def manifest(folder: str) -> KernelManifest:
    return load_yaml(KernelManifest, MANIFESTS[folder])


def kernels(folder: str) -> list[Variant]:
    return [variant for variant in manifest(folder).variants if variant.kind == "kernel"]


class TestManifests:
    """Every folder describes itself, and what it names exists."""

    @pytest.mark.parametrize("folder", MANIFESTS)
    def test_sources_exist_and_define_their_launcher(self, folder: str) -> None:
        for variant in kernels(folder):
            text = (KERNELS / folder / variant.source).read_text(encoding="utf-8")
            assert f'extern "C" int {variant.symbol}(' in text, variant.id
            assert variant.abi is not None, variant.id
            assert variant.symbol == f"assay_{variant.operation}", variant.id
            assert variant.archs, variant.id

    def test_launchers_neither_print_nor_allocate(self) -> None:
        for path in KERNELS.glob("*/*.cu"):
            text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
            assert not re.search(r"\b(printf|cudaMalloc\w*|exit|abort|assert)\s*\(", text), path


class TestFamilies:
    """A member is the base of its family with its own differences; a whole variant is itself."""

    FAMILY = {
        "operation": "bsr_gemm", "source": "k.cu", "symbol": "assay_bsr_gemm", "abi": "bsr_gemm",
        "archs": ["sm_89", "sm_90a"], "defines": {"TILE": 128, "DEPTH": 2},
        "flags": ["--use_fast_math"], "artifact": "reimplemented", "built_from": "nothing",
    }  # fmt: skip

    @classmethod
    def read(cls, *entries: dict[str, Any], **changes: Any) -> KernelManifest:
        families = {"tiles": {**cls.FAMILY, **changes}}
        document = {"schema": "assay/kernels/1", "families": families, "variants": entries}
        return KernelManifest.model_validate_json(json.dumps(document))

    @staticmethod
    def member(name: str, **changes: Any) -> dict[str, Any]:
        return {"family": "tiles", "id": name, "title": name, **changes}

    def test_defines_are_changed_one_by_one_in_the_order_of_the_base(self) -> None:
        (found,) = self.read(self.member("deep", defines={"DEPTH": 4, "KEEP": 1})).variants
        assert list(found.defines.items()) == [("TILE", 128), ("DEPTH", 4), ("KEEP", 1)]

    @pytest.mark.parametrize(
        ("entry", "sentence"),
        [
            ({"family": "tile"}, "there is no family 'tile'"),
            ({"defines": {"DEPTH": "4"}}, "valid integer"),
        ],
        ids=["an unknown family", "a setting that is no number"],
    )
    def test_what_is_refused_of_a_member(self, entry: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValidationError, match=sentence):
            self.read(self.member("first"), self.member("wrong", **entry))


class TestPublishedStages:
    """Source 002's table, typed here from the source, against the defines that are compiled."""

    TILES = {
        0: {"BM": 128, "BN": 128, "BK": 32},
        1: {"BM": 256, "BN": 128, "BK": 32},
        2: {"BM": 256, "BN": 128, "BK": 32},
        3: {"BM": 512, "BN": 128, "BK": 112, "WM": 128, "WN": 64},
    }

    @staticmethod
    def defines(variant_id: str) -> dict[str, int]:
        return {v.id: v.defines for v in kernels("bsr_gemm")}[variant_id]

    @pytest.mark.parametrize("family", ["bsr_bsr", "bsr_gemm"])
    @pytest.mark.parametrize("stage", TILES)
    def test_tiles_are_the_published_ones(self, family: str, stage: int) -> None:
        defines = self.defines(f"{family}_stage{stage}")
        assert defines.items() >= self.TILES[stage].items()
        assert defines["CP_ASYNC"] == (1 if stage >= 2 else 0)
        assert defines["SPARSE_B"] == (1 if family == "bsr_bsr" else 0)


def load_reference(folder: str) -> ModuleType:
    path = KERNELS / folder / "reference.py"
    spec = importlib.util.spec_from_file_location(f"reference_{folder}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return load_reference("bsr_gemm")


Bsr = tuple[np.ndarray, np.ndarray, np.ndarray]


def ragged(rows: list[list[int]], block_rows: int, block_cols: int, seed: int) -> Bsr:
    """A BSR matrix with the given block columns a row."""
    generator = np.random.default_rng(seed)
    row_ptr = np.cumsum([0] + [len(row) for row in rows]).astype(np.int32)
    col_idx = np.array([col for row in rows for col in row], dtype=np.int32)
    values = generator.standard_normal((len(col_idx), block_rows, block_cols)).astype(np.float16)
    return values, row_ptr, col_idx


def element(matrix: Bsr, row: int, col: int) -> float:
    """One element, found the slow way: look through the block row for its block."""
    values, row_ptr, col_idx = matrix
    _, block_rows, block_cols = values.shape
    for stored in range(row_ptr[row // block_rows], row_ptr[row // block_rows + 1]):
        if col_idx[stored] == col // block_cols:
            return float(values[stored, row % block_rows, col % block_cols])
    return 0.0


class TestReference:
    """The oracle against three nested loops over single elements."""

    A_ROWS = ([0, 2, 3], [], [1], [0, 1, 2, 3], [])
    B_ROWS = ([1], [], [0, 1, 2], [0, 2])

    def test_bsr_gemm_with_ragged_and_empty_rows(self, reference: ModuleType) -> None:
        a = ragged(list(self.A_ROWS), 3, 2, seed=1)
        b = np.random.default_rng(2).standard_normal((8, 5)).astype(np.float16)
        got = reference.bsr_gemm(*a, b)
        assert got.dtype == np.float64 and got.shape == (15, 5)
        for i in range(15):
            for j in range(5):
                expected = sum(element(a, i, k) * float(b[k, j]) for k in range(8))
                assert got[i, j] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert not got[3:6].any() and not got[12:].any()

    def test_bsr_bsr_gemm_with_missing_partners(self, reference: ModuleType) -> None:
        a = ragged(list(self.A_ROWS), 3, 2, seed=3)
        b = ragged(list(self.B_ROWS), 2, 4, seed=4)
        got = reference.bsr_bsr_gemm(*a, *b, 12)
        assert got.shape == (15, 12)
        for i in range(15):
            for j in range(12):
                expected = sum(element(a, i, k) * element(b, k, j) for k in range(8))
                assert got[i, j] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert not got[6:9].any(), "A's third row only meets B's empty block row"

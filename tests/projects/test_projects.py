"""The projects of this repository: nothing is wrong with them, and their arms pass the gate.

What needs a GPU is not run here. Arms that a CPU can run are gated at small sizes by the gate of a
real run; the others must say what they lack, and leave the rest to be measured.
"""

import dataclasses
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from assay.catalog.load import check_project, load_catalog
from assay.catalog.model import Catalog
from assay.device.kernels import project_code
from assay.device.kernels.bindings import prepare_arm
from assay.device.tasks.correctness import check_arm
from assay.judging.answers import Asked, make_answers
from assay.judging.printed_figures import audit
from assay.pipeline.project_check import every_problem
from assay.records.workloads import as_spec, workload_spec
from assay.shared import project_calls
from assay.shared.specs import ArmSpec, Json, VariantSpec
from tests import report_fixtures

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = {path.parent.name: path.parent for path in (ROOT / "projects").glob("*/assay.yaml")}
del PROJECTS["referee"]
# It has kernels that cheat, at the sizes of a GPU.

SMALL: dict[str, dict[str, dict[str, int | str]]] = {
    "flashattention3": {
        "d128_full": {"batch": 2, "seqlen": 96, "heads": 2, "headdim": 128, "causal": 0},
        "d128_causal": {"batch": 2, "seqlen": 96, "heads": 2, "headdim": 128, "causal": 1},
        "d256_full": {"batch": 1, "seqlen": 96, "heads": 2, "headdim": 256, "causal": 0},
        "ablation": {"batch": 2, "seqlen": 65, "heads": 2, "headdim": 128, "causal": 0},
        "d256_fp8": {"batch": 1, "seqlen": 96, "heads": 2, "headdim": 256, "causal": 0},
    },
    "flexattention": {
        "causal": {"batch": 1, "heads": 2, "seqlen": 512, "headdim": 64},
        "window": {"batch": 1, "heads": 2, "seqlen": 512, "headdim": 64, "window": 200},
        "training": {"batch": 1, "heads": 2, "seqlen": 256, "headdim": 64},
    },
    "deepgemm": {
        "scaled_4096": {"m": 68, "n": 256, "k": 384},
        "scaled_128": {"m": 16, "n": 128, "k": 256},
        "fp16_8192": {"size": 96},
        "fp16_8192_zeros": {"size": 32},
        "fp8_8192": {"size": 64},
        "copy": {"elements": 1000},
    },
}
"""Parameters that a CPU computes quickly; documents are of one length, and have a test below."""
ON_CPU = {
    "fa2", "fa2_bf16", "flex", "score_mod", "masked_everywhere", "masked", "cublas", "fast",
    "accurate", "memcpy", "elementwise",
}  # fmt: skip
"""Arms that PyTorch has on a CPU, where it has them at all (NO_CPU)."""
NO_CPU = {("window", "fa2"), ("training", "flex")}
LIBRARIES = ("deep_gemm", "flash_attn_interface", "fa3_fwd_interface")


@pytest.fixture(autouse=True)
def _fresh_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no project's module of one name stand for another's, nor what is installed here."""
    project_code._case.cache_clear()
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture(scope="module")
def catalogs() -> dict[str, Catalog]:
    return {name: load_catalog(ROOT, folder) for name, folder in PROJECTS.items()}


def gate(catalog: Catalog, folder: Path, measurement: str, arm: str) -> Json:
    """What the gate says of an arm at a small size, on a CPU."""
    patch = pytest.MonkeyPatch()
    patch.setenv(project_calls.VARIABLE, str(folder))
    workload = workload_spec(catalog.workloads[measurement])
    small = {**workload.parameters, **SMALL[folder.name][measurement]}
    spec = ArmSpec(
        arm,
        as_spec(VariantSpec, catalog.variants[f"{measurement}_{arm}"]),
        dataclasses.replace(workload, parameters=small),
        None,
    )
    try:
        return check_arm(spec, (1, 2), "cpu", prepare_arm, lambda note: None)
    finally:
        patch.undo()


def arms() -> list[tuple[str, str, str]]:
    found = []
    for name, folder in PROJECTS.items():
        catalog = load_catalog(ROOT, folder)
        for measurement in SMALL[name]:
            ids = [arm.id for arm in catalog.comparisons[measurement].arms]
            found += [(name, measurement, arm) for arm in ids]
    return found


@pytest.mark.parametrize("name", PROJECTS)
class TestAProject:
    def test_nothing_is_wrong_with_it(self, name: str) -> None:
        assert every_problem(ROOT, check_project(ROOT, PROJECTS[name])) == []

    def test_every_measurement_of_it_is_tried_here(self, name, catalogs):
        project = catalogs[name].project
        assert set(project.measures) - {"documents"} == set(SMALL[name])


@pytest.mark.parametrize(("name", "measurement", "arm"), arms())
def test_an_arm_passes_the_gate_or_says_what_it_lacks(name, measurement, arm, catalogs):
    found = gate(catalogs[name], PROJECTS[name], measurement, arm)
    if arm.startswith("fa3") or arm == "deepgemm":
        assert found["status"] == "not_installed", found
    elif arm in ON_CPU and (measurement, arm) not in NO_CPU:
        assert found["status"] == "correct", found
    else:
        assert found["status"] == "unsupported", found


class TestFlashAttention3:
    """Its arms hand the library what it wants, and know what a build was made without."""

    @pytest.fixture
    def wheel(self, monkeypatch: pytest.MonkeyPatch) -> None:
        library, config = ModuleType("fa3_fwd_interface"), ModuleType("fa3_fwd_config")

        def flash_attn_func(q, k, v, causal=False):
            q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
            wide = (tensor.float() for tensor in (q, k, v))
            found = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=causal)
            kept = torch.bfloat16 if q.dtype is torch.float8_e4m3fn else q.dtype
            return found.transpose(1, 2).to(kept)

        library.flash_attn_func = flash_attn_func  # type: ignore[attr-defined]
        flags = {"FLASHATTENTION_DISABLE_FP16": True, "FLASHATTENTION_DISABLE_FP8": False}
        config.CONFIG = {"build_flags": flags}  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, library.__name__, library)
        monkeypatch.setitem(sys.modules, config.__name__, config)

    @pytest.mark.usefixtures("wheel")
    @pytest.mark.parametrize("measurement", ["d128_full", "d128_causal"])
    def test_a_build_without_fp16_is_no_answer_in_fp16(self, measurement, catalogs) -> None:
        folder, catalog = PROJECTS["flashattention3"], catalogs["flashattention3"]
        found = gate(catalog, folder, measurement, "fa3")
        assert found["status"] == "unsupported"
        assert "without fp16" in found["detail"]
        assert gate(catalog, folder, measurement, "fa3_bf16")["status"] == "correct"

    @pytest.mark.usefixtures("wheel")
    def test_the_other_callers_of_it_pass_the_gate(self, catalogs: dict[str, Catalog]) -> None:
        fp8 = gate(catalogs["flashattention3"], PROJECTS["flashattention3"], "d256_fp8", "fa3_fp8")
        flex = gate(catalogs["flexattention"], PROJECTS["flexattention"], "causal", "fa3")
        assert (fp8["status"], flex["status"]) == ("correct", "correct")

    def test_figures_that_the_paper_contradicts_are_found(self, catalogs):
        catalog = catalogs["flashattention3"]
        odd = {
            each.id
            for each in catalog.audits.values()
            if not audit(each.formula, each.operands, each.claimed, catalog.claims).consistent
        }
        assert odd == {
            "highest_bar", "d256_full_range", "short_range_a", "short_range_b",
            "over_cudnn_1k_b", "over_cudnn_1k_c",
        }  # fmt: skip


class TestFlexAttention:
    @pytest.fixture
    def code(self, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        monkeypatch.syspath_prepend(str(PROJECTS["flexattention"]))
        monkeypatch.delitem(sys.modules, "attention", raising=False)
        found = importlib.import_module("attention")
        monkeypatch.delitem(sys.modules, "attention")
        return found

    def test_the_documents_are_those_of_the_formula(self, code, catalogs):
        given = catalogs["flexattention"].workloads["documents"].parameters
        assert sum(code.DOCUMENTS) == given["seqlen"]
        assert sum(length**2 for length in code.DOCUMENTS) == given["pairs"]

    def test_documents_see_themselves_alone(self, code, monkeypatch):
        monkeypatch.setattr(code, "DOCUMENTS", (100, 156, 40, 216))
        pairs = 100**2 + 156**2 + 40**2 + 216**2
        made = code.case_documents(heads=2, seqlen=512, headdim=64, pairs=pairs, device="cpu")
        tensors = made["inputs"](1)
        right = made["oracle"](**tensors)
        assert torch.linalg.norm(made["flex"](**tensors).float() - right) < 0.01 * right.norm()
        alone = {name: tensor[:, :, 100:256] for name, tensor in tensors.items()}
        seen = torch.nn.functional.scaled_dot_product_attention(*(alone[n].double() for n in "qkv"))
        assert torch.allclose(right[:, :, 100:256].double(), seen, atol=1e-5)


class TestDeepGEMM:
    """Whichever DeepGEMM is installed computes its product under the name that it has for it."""

    @pytest.mark.parametrize("name", ["gemm_fp8_fp8_bf16_nt", "fp8_gemm_nt"])
    def test_both_names_of_the_product_pass_the_gate(self, name, catalogs, monkeypatch):
        def product(left, right, out):
            (a, scales_a), (b, scales_b) = left, right
            assert scales_a.stride() == (1, a.shape[0]), "column by column, as it wants them"
            wide_b = scales_b.repeat_interleave(128, 0).repeat_interleave(128, 1)
            out.copy_(a.float() * scales_a.repeat_interleave(128, 1) @ (b.float() * wide_b).T)

        library = ModuleType("deep_gemm")
        setattr(library, name, product)
        monkeypatch.setitem(sys.modules, "deep_gemm", library)
        found = gate(catalogs["deepgemm"], PROJECTS["deepgemm"], "scaled_128", "deepgemm")
        assert found["status"] == "correct", found

    def test_another_version_and_one_for_another_pytorch_are_no_answer(
        self, catalogs: dict[str, Catalog], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        catalog, folder = catalogs["deepgemm"], PROJECTS["deepgemm"]
        monkeypatch.setitem(sys.modules, "deep_gemm", ModuleType("deep_gemm"))
        found = gate(catalog, folder, "scaled_128", "deepgemm")
        assert found["status"] == "unsupported"
        assert "none of gemm_fp8_fp8_bf16_nt, fp8_gemm_nt" in found["detail"]

        (tmp_path / "deep_gemm.py").write_text('raise OSError("undefined symbol")\n')
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "deep_gemm")
        project_code._case.cache_clear()
        found = gate(catalog, folder, "scaled_128", "deepgemm")
        assert found["status"] == "unsupported"
        assert "another PyTorch" in found["detail"]


def test_of_a_memory_another_products_figure_tells_nothing(catalogs: dict[str, Catalog]) -> None:
    catalog = catalogs["deepgemm"]
    provisions = [report_fixtures.provision(target) for target in ("h100", "h200")]
    claims = [catalog.claims[name] for name in ("h100_bandwidth", "fp16_peak")]
    asked = Asked(("fa3_paper",), tuple(provisions), frozenset())
    found = make_answers(catalog, asked, claims)
    assert [(each.claim, each.target) for each in found] == [
        ("h100_bandwidth", "h100"), ("fp16_peak", "h100"), ("fp16_peak", "h200"),
    ]  # fmt: skip

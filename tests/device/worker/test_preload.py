"""preload: slow imports once, and never one that touches CUDA."""

import pytest

from assay.device.worker import preload as module
from assay.device.worker.preload import (
    modules_for,
    preload,
    start_again_without,
)
from assay.shared import project_place
from assay.shared.specs import ArmSpec, CodeSpec, ComparisonSpec, VariantSpec, WorkloadSpec
from tests.device.helpers import bsr_workload, make_arm


def comparison(*entries):
    arms = tuple(make_arm(entry, bsr_workload()) for entry in entries)
    return ComparisonSpec("c", entries[0], arms)


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in (module.SKIP_VARIABLE, module.CACHE_VARIABLE, "TRITON_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)


def test_only_what_an_arm_will_import():
    assert modules_for(comparison("cublas_dense")) == []
    names = modules_for(comparison("flex_attention", "torch_bsr"))
    assert len(names) == len(set(names))
    assert "torch._inductor.compile_fx" in names
    assert "torch.sparse._triton_ops" not in names


def test_a_projects_code_says_by_its_words_what_it_imports(monkeypatch, tmp_path):
    monkeypatch.setenv(project_place.VARIABLE, str(tmp_path))

    def modules(text):
        (tmp_path / "ours.py").write_text(text)
        code = CodeSpec("ours.py", "case", {"ours.py": "00", "gone.py": "00"})
        problem = WorkloadSpec("w", "callable", "float16", "own", 1, 0.01, code=code)
        arm = ArmSpec("ours", VariantSpec("v", "callable", "callable", entry="ours"), problem, None)
        return modules_for(ComparisonSpec("c", "ours", (arm,)))

    assert modules("import torch") == []
    assert modules("import triton") == ["triton", "triton.language"]
    assert "torch._inductor.compile_fx" in modules("fast = torch.compile(slow)")


def test_a_module_that_fails_is_named(capsys, monkeypatch, tmp_path):
    (tmp_path / "broken_rival.py").write_text("raise RuntimeError('no driver')")
    monkeypatch.syspath_prepend(tmp_path)
    assert preload(["broken_rival"]) is None
    assert "broken_rival is not preloaded: RuntimeError: no driver" in capsys.readouterr().err


def test_names_the_import_that_touched_cuda(monkeypatch):
    signs = iter([set(), set(), {"uvm"}])
    monkeypatch.setattr(module, "signs_of_cuda", lambda: next(signs))
    assert preload(["json", "gzip", "csv"]) == "gzip"


def test_starts_again_without_it(monkeypatch):
    calls = []
    monkeypatch.setattr(module.os, "execv", lambda *arguments: calls.append(arguments))
    monkeypatch.setenv(module.SKIP_VARIABLE, "triton")
    start_again_without(["torch._dynamo"], ["a.json", "b.json"])
    assert module.os.environ[module.SKIP_VARIABLE] == "triton,torch._dynamo"
    assert calls[0][1][1:] == ["-m", "assay.device", "a.json", "b.json"]

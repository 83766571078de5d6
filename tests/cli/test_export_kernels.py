"""The host and PyTorch's operators: what is offered, planned, compiled, recorded and reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import CheckFailed
from assay.catalog.model import Catalog
from assay.cli.commands import lab as kernel_set
from assay.cli.commands.lab import make_kernel_set
from assay.measuring.operator_kernels import kernel_entries, offered
from assay.records.builds import FileDigest
from assay.records.rivals import KernelSetRecord
from assay.shared.files import sha256_bytes
from tests import builders

ROOT = Path(__file__).resolve().parents[2]


def built(catalog: Catalog, folder: Path, *, without: str = "") -> dict[str, Any]:
    """Build records and libraries of all that is offered on an H100, but for one."""
    found = {}
    for entry in offered(catalog, "h100"):
        record = builders.build(entry.variant)
        path = folder / "sm_90a" / f"{entry.variant}.so"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.variant.encode())
        artifact = FileDigest(
            path=f"sm_90a/{path.name}",
            sha256=sha256_bytes(path.read_bytes()),
            bytes=path.stat().st_size,
        )
        failed = {"status": "failed", "artifact": None}
        changes = failed if entry.variant == without else {"status": "built", "artifact": artifact}
        found[entry.variant] = (record.model_copy(update=changes), path)
    return found


class TestKernelSets:
    """What a folder of kernels lists."""

    def test_it_names_libraries_that_were_checked(self, catalog: Catalog, tmp_path: Path) -> None:
        builds = built(catalog, tmp_path, without="bsr_gemm_wgmma_bf16")
        kernels = kernel_entries(catalog, "h100", builds)
        names = [kernel.variant for kernel in kernels]
        assert "bsr_gemm_wgmma" in names
        assert "bsr_gemm_wgmma_bf16" not in names
        assert {"attention_fused_d64", "attention_fused_d128_b64_bf16"} <= set(names)
        attention = {k.variant: (k.block, k.head_dim) for k in kernels if k.head_dim}
        assert attention["attention_fused_d64"] == ((128, 128), 64)
        assert attention["attention_fused_d128_b64_bf16"] == ((64, 64), 128)
        assert "bsr_gemm_wgmma" not in attention
        builds["bsr_gemm_wgmma"][1].write_bytes(b"changed")
        with pytest.raises(CheckFailed, match=r"bsr_gemm_wgmma\.so: is not the file"):
            kernel_entries(catalog, "h100", builds)

    def test_a_folder_has_an_index(self, catalog, tmp_path, monkeypatch):
        builds = built(catalog, tmp_path / "set", without="bsr_gemm_mma")
        monkeypatch.setattr(kernel_set.building, "build", lambda *given, **_: builds[given[3]][0])
        monkeypatch.setattr(kernel_set, "compiler_place", lambda root, runtime: None)
        made = make_kernel_set(ROOT, "h100", tmp_path / "set", "host")
        text = (tmp_path / "set" / "kernels.json").read_text()
        assert KernelSetRecord.model_validate_json(text) == made
        assert {choice.target for choice in made.choices} == {"h100"}
        heads = {entry["variant"]: entry["head_dim"] for entry in json.loads(text)["kernels"]}
        assert (heads["attention_fused_d128"], heads["bsr_gemm_wgmma"]) == (128, None)
        assert "bsr_gemm_mma" not in {kernel.variant for kernel in made.kernels}
        for kernel in made.kernels:
            assert (tmp_path / "set" / kernel.path).is_file()

"""``check --run``: a project's functions are called on a CPU before a GPU is asked for."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[3]
FUNCTION = """\
import torch


def case(rows, device):
    def inputs(seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        return {"x": torch.randn(rows, generator=generator, device=device)}

    def right(x, out):
        torch.mul(x, 2, out=out)

    def takes_no_out(x):
        return 2 * x

    def one_dict(tensors):
        return 2 * tensors["x"]

    def wrong(x, out):
        torch.mul(x, 2.5, out=out)

    def elsewhere(x, out):
        torch.mul(x.cuda(), 2, out=out)

    def missing(x, out):
        import no_such_library

    return {"inputs": inputs, "oracle": lambda x: 2 * x.double(),
            "output": lambda: torch.empty(rows, device=device),
            "right": right, "arm": ARM}
"""
PROJECT = """\
schema: assay/project/1
title: Twice
sources: [{id: post, title: A post}]
measurements:
  - id: doubled
    title: Twice a vector
    callable: twice.py:case
    parameters: {rows: 100000000000}
    small: {rows: 64}
    arms: {right: "a product", arm: "another"}
    dtype: float32
    flops: rows
    bytes: 8 * rows
    relative_tolerance: 0.001
    protocol: sweep
claims:
  - id: ratio
    statement: It is fast
    place: {section: Results, line: 3}
    value: 1.5x
    target: h100
    answer: {measurement: doubled, arm: arm, over: right}
"""


def run(assay: Any, folder: Path, arm: str) -> Any:
    folder.mkdir()
    (folder / "assay.yaml").write_text(PROJECT)
    (folder / "twice.py").write_text(FUNCTION.replace("ARM", arm))
    return assay("check", "--project", folder, "--run", "--device-python", sys.executable)


@pytest.mark.parametrize(
    ("arm", "line", "words"),
    [
        ("takes_no_out", 12, "unexpected keyword argument 'out'"),
        ("one_dict", 15, "is called with x, out"),
        ("wrong", None, "its result is wrong on a CPU"),
    ],
)
def test_a_wrong_function_is_one_line(
    arm: str, line: int | None, words: str, assay: Any, tmp_path: Path
) -> None:
    ended = run(assay, tmp_path / "mine", arm)
    assert ended.code == 1
    (said,) = [row for row in ended.out.splitlines() if "arm 'arm'" in row]
    assert words in said
    assert line is None or f"(twice.py, line {line})" in said
    assert "Traceback" not in ended.out + ended.err


@pytest.mark.parametrize("arm", ["right", "elsewhere", "missing"])
def test_what_needs_a_gpu_or_a_library_is_a_remark(arm: str, assay: Any, tmp_path: Path) -> None:
    ended = run(assay, tmp_path / "mine", arm)
    assert ended.code == 0, ended.out + ended.err
    assert ("remark: measurement 'doubled': arm 'arm'" in ended.out) is (arm != "right")


def test_a_python_without_torch_is_lacking(assay: Any, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    folder = tmp_path / "mine"
    run(assay, folder, "right")
    ended = assay("check", "--project", folder, "--run", "--device-python", python)
    assert ended.code == 3
    assert "--device-python" in ended.err


def test_the_signatures_in_the_docs_work(assay: Any, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "assay-yaml.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)
    assert len(code.splitlines()) == 10
    project = PROJECT.replace('{right: "a product", arm: "another"}', '{ours: "a product"}')
    project = project.replace("arm: arm, over: right", "arm: ours").replace("1.5x", "5 GB/s")
    (tmp_path / "assay.yaml").write_text(project)
    (tmp_path / "twice.py").write_text(code)
    ended = assay("check", "--project", tmp_path, "--run", "--device-python", sys.executable)
    assert ended.code == 0, ended.out + ended.err
    assert "remark" not in ended.out

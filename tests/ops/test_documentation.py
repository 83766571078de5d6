"""docs/pytorch.md: its example works as written, and its command exists."""

import re
from pathlib import Path

import pytest
import torch

from tests.ops.helpers import write_set

PAGE = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text(encoding="utf-8")


def examples():
    return re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """What the names of an example stand for, once it ran beside a folder of kernels."""
    (folder,) = re.findall(r"^\./assay lab kernels .*--out (\S+)$", PAGE, re.MULTILINE)
    (tmp_path / folder).mkdir(parents=True)
    write_set(tmp_path / folder, {"variant": "bsr_gemm_wgmma"})
    monkeypatch.chdir(tmp_path)

    def run(example):
        assert len(example.splitlines()) == 5
        names = {}
        exec(compile(example, "docs/pytorch.md", "exec"), names)
        return names

    return run


def test_the_example_runs_as_written(typed):
    names = typed(examples()[0])
    assert torch.equal(names["c"], names["b"])  # a is the identity
    compiled = torch.compile(torch.ops.assay.bsr_gemm, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*names["parts"], names["b"]), names["c"])


def test_the_example_of_attention_runs_as_written(typed):
    names = typed(examples()[1])
    q, k, v = (names[name] for name in "qkv")
    right = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(names["o"], right, atol=2e-3)


def test_every_operator_is_described():
    from assay.ops import OPERATORS

    for name, operator in OPERATORS.items():
        arguments = ", ".join(argument.name for argument in operator._schema.arguments)
        assert f"| `{name}` | `{arguments}` |" in PAGE

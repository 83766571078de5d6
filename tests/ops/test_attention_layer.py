"""tools.attention_layer: the layer with our attention computes what dense attention does."""

import json
from pathlib import Path

import torch
from tools.attention_layer import Shape, errors, table

DOCS = Path(__file__).parents[2] / "docs"


def test_outputs_and_gradients_are_those_of_the_dense_layer():
    shape = Shape(512, model=256, heads=4, kv_heads=2, window=128, drawn=1)
    output, gradients = errors(shape, torch.bfloat16, "cpu", ("assay",))["assay"]
    assert 0 < output < 1e-2
    assert 0 < gradients < 2e-2


def test_the_page_shows_the_record():
    record = json.loads((DOCS / "attention_layer.json").read_text())
    assert table(record) in (DOCS / "pytorch.md").read_text()

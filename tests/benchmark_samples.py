"""Small problems of our own, in the formats of others, each with an honest and a wrong solution."""

import json
import struct

KERNELBENCH = {
    "level1/7_Scaled_relu_.py": """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, factor):
        return torch.relu(self.linear(x)) * factor

def get_inputs():
    return [torch.rand(32, 64), 2.0]

def get_init_inputs():
    return [64]
""",
    "runs/level_1_problem_7_sample_0_kernel.py": """
import torch
import torch.nn as nn

class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, factor):
        return (x @ self.linear.weight.T + self.linear.bias).clamp(min=0) * factor
""",
    "runs/level_1_problem_7_sample_1_kernel.py": """
import torch
import torch.nn as nn

class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.kept = None

    def forward(self, x, factor):
        if self.kept is None:
            self.kept = x * factor
        return self.kept
""",
    "runs/level_1_problem_7_sample_2_kernel.py": "class ModelNew(:\n",
    "runs/level_3_problem_9_sample_0_kernel.py": "class ModelNew:\n    pass\n",
}
"""A folder of problems and one of runs, of which one does not parse and one has no problem."""

FUNCTIONS = """
import torch

def get_inputs():
    return [torch.randn(64, 32), torch.randn(64, 32)]

def slow(x, y):
    return x.sum(dim=1) + y.sum(dim=1), x.abs().amax(dim=1)

def fast(x, y):
    return (x + y).sum(dim=1), x.abs().amax(dim=1)

def half_done(x, y):
    return (x + y).sum(dim=1), x.abs()[:, 0]
"""

GPU_MODE = {
    "add/task.yml": """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "../eval.py"}
config: {main: "eval.py"}
tests:
  - {"size": 7, "seed": 1}
benchmarks:
  - {"size": 64, "seed": 2}
  - {"size": 96, "seed": 3}
""",
    "add/reference.py": """
import torch
from utils import near

def ref_kernel(data):
    a, b, out = data
    out[...] = a + b
    return out

def generate_input(size, seed):
    gen = torch.Generator().manual_seed(seed)
    draw = lambda: torch.randn(size, size, generator=gen, dtype=torch.float16)
    return draw(), draw(), torch.empty(size, size, dtype=torch.float16)

def check_implementation(data, output):
    return near(output, ref_kernel(data), rtol=1e-3)
""",
    "utils.py": """
import torch

def near(got, wanted, rtol):
    good = torch.allclose(got.float(), wanted.float(), rtol=rtol)
    return good, "" if good else "other values"
""",
    "eval.py": "raise SystemExit('the harness is never taken')\n",
    "add/submission.py": """
import utils

def custom_kernel(data):
    a, b, out = data
    out.copy_(a).add_(b)
    return out
""",
    "add/other.py": """
def custom_kernel(data):
    a, b, out = data
    return a + b if a.shape[0] > 7 else a  # wrong at a test's shape alone
""",
}


def safetensors(name, values):
    data = struct.pack(f"<{len(values)}f", *values)
    head = {name: {"dtype": "F32", "shape": [len(values)], "data_offsets": [0, len(data)]}}
    table = json.dumps(head).encode()
    return struct.pack("<Q", len(table)) + table + data


SCALED = {
    "name": "scaled_sum_h8",
    "op_type": "misc",
    "axes": {"rows": {"type": "var"}, "width": {"type": "const", "value": 8}},
    "inputs": {
        "x": {"shape": ["rows", "width"], "dtype": "float32"},
        "weight": {"shape": ["width"], "dtype": "float32"},
        "factor": {"shape": None, "dtype": "float32"},
    },
    "outputs": {
        "out": {"shape": ["rows", "width"], "dtype": "float32"},
        "total": {"shape": ["rows"], "dtype": "float32"},
    },
    "reference": "def run(x, weight, factor):\n"
    "    out = x * weight + factor\n    return out, out.sum(dim=1)\n",
}
WORKLOAD = {
    "definition": "scaled_sum_h8",
    "solution": None,
    "workload": {
        "uuid": "0a1b2c3d-0000",
        "axes": {"rows": 16},
        "inputs": {
            "x": {"type": "random"},
            "weight": {"type": "safetensors", "path": "blobs/w.safetensors", "tensor_key": "w"},
            "factor": {"type": "scalar", "value": 3.0},
        },
    },
}


def solution(name, body, more=(), **spec):
    """Return a solution of a file, ``main.py`` unless its specification names another, and of
    ``more``.
    """
    spec = {"language": "python", "entry_point": "main.py::run", **spec}
    files = [(spec["entry_point"].partition("::")[0], body), *more]
    return {
        "name": name,
        "definition": "scaled_sum_h8",
        "author": "nobody",
        "spec": spec,
        "sources": [{"path": path, "content": content} for path, content in files],
    }


FLASHINFER_BENCH = {
    "definitions/scaled.json": json.dumps(SCALED),
    "workloads/scaled.jsonl": json.dumps(WORKLOAD) + "\n",
    "workloads/blobs/w.safetensors": safetensors("w", [1, 2, 3, 4, 5, 6, 7, 8]),
    "solutions/good.json": json.dumps(
        solution(
            "good",
            "def run(x, weight, factor, out, total):\n"
            "    out.copy_(x * weight).add_(factor)\n    total.copy_(out.sum(dim=1))\n",
        )
    ),
    "solutions/returns.json": json.dumps(
        solution(
            "returns",
            "from .deep.sums import total\nfrom more import scaled\n"
            "def run(x, weight, factor):\n    out = scaled(x, weight) + factor\n"
            "    return {'total': total(out), 'out': out}\n",
            [
                ("src/deep/sums.py", "def total(out):\n    return out.sum(dim=1)\n"),
                ("src/more.py", "def scaled(x, weight):\n    return x * weight\n"),
            ],
            entry_point="src/main.py::run",
            destination_passing_style=False,
        )
    ),
    "solutions/part.json": json.dumps(
        solution("part", "def run(x, weight, factor, out, total):\n    out.copy_(x * weight + 3)\n")
    ),
    "solutions/rust.json": json.dumps(solution("rust", "", entry_point="main.rs::run")),
}


def write(folder, contents):
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder

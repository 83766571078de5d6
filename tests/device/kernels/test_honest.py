"""Honest kernels in the ways that people write them: none is called a cheat, on a CPU."""

import hashlib
import re

import pytest

from assay.device.kernels import project_code
from assay.shared import project_calls
from assay.shared.specs import CodeSpec
from tests.device.helpers import gate, project_arm, timed

CODE = '''
import functools, gc, inspect, math, threading, time, warnings
import numpy as np
import torch
import torch.nn.functional as F

class Module(torch.nn.Module):
    """Keeps a workspace and counts its calls."""
    def __init__(self):
        super().__init__()
        self.calls, self.register = 0, None
        self.register_buffer("space", torch.empty(0))
    def forward(self, x, w):
        self.calls += 1
        if self.space.shape != (x.shape[0], w.shape[1]):
            self.space = x.new_empty(x.shape[0], w.shape[1])
        torch.mm(x, w, out=self.space)
        return self.space.relu()

class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return (x @ w).clamp(min=0)

class Tuner:
    """Tries its ways at the first call, and takes the faster one."""
    def __init__(self):
        self.best = None
    def __call__(self, x, w):
        ways = (lambda: torch.relu(x @ w), lambda: torch.relu(torch.matmul(x, w)))
        if self.best is None:
            times = []
            for way in ways:
                began = time.perf_counter()
                way()
                times.append(time.perf_counter() - began)
            self.best = times.index(min(times))
        return ways[self.best]()

@functools.lru_cache
def library():
    return {"mm": torch.mm}

LOCK = threading.Lock()

def locked(x, w):
    with LOCK:
        return torch.relu(x @ w)

def hooked(x, w):
    module = torch.nn.Linear(w.shape[0], w.shape[1], bias=False)
    module.weight = torch.nn.Parameter(w.T)
    handle = module.register_forward_hook(lambda _m, _i, out: torch.relu(out))
    found = module(x).detach()
    handle.remove()
    return found

def reseeded(x, w):
    torch.manual_seed(0)
    torch.rand(3)
    return torch.relu(x @ w)

def precise(x, w):
    torch.set_float32_matmul_precision("high")
    return torch.relu(x @ w)

def warned(x, w):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.relu(x @ w)

def graded(x, w):
    with torch.enable_grad():
        leaf = x.clone().requires_grad_()
        return torch.relu(leaf @ w)

def collected(x, w):
    gc.collect()
    return torch.relu(x @ w)

@torch.jit.script
def scripted(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(torch.mm(x, w))

@torch.compile(backend="eager")
def compiled(x, w):
    return torch.relu(x @ w)

def case(device):
    def inputs(seed):
        gen = torch.Generator(device=device).manual_seed(seed)
        draw = lambda *size: torch.randn(*size, generator=gen, device=device)
        return {"x": draw(48, 64), "w": draw(64, 32)}

    padded = {}
    def cached_weights(x, w):  # a packed copy, made anew whenever the weights are
        key = (w.data_ptr(), w._version)
        if key not in padded:
            padded.clear()
            padded[key] = w.T.contiguous()
        return torch.relu(x @ padded[key].T)

    return {
        "inputs": inputs,
        "oracle": lambda x, w: torch.relu(x.double() @ w.double()),
        "plain": lambda x, w: torch.relu(x @ w),
        "module": Module(),
        "autograd": lambda x, w: Function.apply(x, w),
        "tuner": Tuner(),
        "lazy_library": lambda x, w: torch.relu(library()["mm"](x, w)),
        "locked": locked,
        "hooked": hooked,
        "reseeded": reseeded,
        "precise": precise,
        "warned": warned,
        "graded": graded,
        "collected": collected,
        "scripted": scripted,
        "compiled": compiled,
        "cached_weights": cached_weights,
        "view_of_more": lambda x, w: torch.relu(torch.cat([x, x]) @ w)[:x.shape[0]],
        "numpy": lambda x, w: torch.from_numpy(np.maximum(x.numpy() @ w.numpy(), 0)),
        "inference": torch.inference_mode()(lambda x, w: torch.relu(x @ w)),
        "fused_out": lambda x, w: torch.addmm(x.new_zeros(1), x, w).relu_(),
        "sparse": lambda x, w: torch.relu(torch.sparse.mm(x.to_sparse_csr(), w)),
        "closed": functools.partial(lambda scale, x, w: torch.relu(scale * (x @ w)), 1.0),
        "inspecting": lambda x, w: torch.relu(x @ w) if inspect.isfunction(locked) else None,
    }
'''
NAMES = re.findall(r'^        "(?!inputs|oracle)(\w+)": ', CODE, re.M)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    (tmp_path / "honest.py").write_text(CODE)
    monkeypatch.setenv(project_calls.VARIABLE, str(tmp_path))
    project_code._case.cache_clear()


def arm(name):
    files = {"honest.py": hashlib.sha256(CODE.encode()).hexdigest()}
    return project_arm(name, CodeSpec("honest.py", "case", files))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_gate_lets_it_pass(name):
    found = gate(arm(name))
    assert (found["status"], found["detail"]) == ("correct", ""), found


@pytest.mark.filterwarnings("ignore")
def test_none_is_wrong_where_all_are_timed_together():
    assert timed([arm(name) for name in NAMES], "plain")["wrong"] == {}

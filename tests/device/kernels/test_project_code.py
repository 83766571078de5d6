"""Functions of a project: gated and timed as our own arms are, on a CPU."""

import hashlib

import pytest

from assay.device.kernels import project_code
from assay.device.kernels.inputs import make_inputs
from assay.device.kernels.prepare import prepare_arm
from assay.device.kernels.project_code import BadCode
from assay.device.tasks.correctness import check_arm
from assay.device.timing import bench_process
from assay.device.timing.bench_process import Bench, run_process
from assay.device.timing.phases import Phases
from assay.shared import project_place
from assay.shared.launch_facts import launch_facts
from assay.shared.specs import ArmSpec, CodeSpec, VariantSpec, WorkloadSpec
from tests.device.helpers import HostStopwatch, protocol

CODE = """
import torch
from helper import twice

KEPT = {}

def case(rows, device):
    def inputs(seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        return {"x": torch.randn(rows, generator=generator, device=device)}

    def cached(x):
        return KEPT.setdefault("y", twice(x))

    def stale(x):
        last = KEPT.get("last", x)
        KEPT["last"] = twice(x)
        return last

    def spoils(x):
        y = twice(x)
        x.zero_()
        return y

    return {
        "inputs": inputs,
        "oracle": lambda x: x.double() * 2,
        "right": twice,
        "wrong": lambda x: x * 2.1,
        "cached": cached,
        "stale": stale,
        "spoils": spoils,
    }

def into(rows, device):
    made = case(rows, device)

    def partly(x, out):
        out[:-1] = twice(x)[:-1]

    def wholly(x, out):
        out.copy_(twice(x))

    return {**made, "output": lambda: torch.empty(rows, device=device), "partly": partly,
            "wholly": wholly}

def nothing(rows, device):
    return {"inputs": 3}
"""
HELPER = "def twice(x):\n    return x + x\n"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    (tmp_path / "ours.py").write_text(CODE)
    (tmp_path / "helper.py").write_text(HELPER)
    monkeypatch.setenv(project_place.VARIABLE, str(tmp_path))
    project_code._case.cache_clear()
    return tmp_path


def workload(function="case", **changes):
    files = {
        name: hashlib.sha256(text.encode()).hexdigest()
        for name, text in (("ours.py", CODE), ("helper.py", HELPER))
    }
    values = {
        "id": "doubling",
        "operation": "callable",
        "dtype": "float32",
        "distribution": "own",
        "seed": 3,
        "relative_tolerance": 1e-6,
        "code": CodeSpec("ours.py", function, files),
        "parameters": {"rows": 256},
        "flops": "rows",
        "bytes": "8 * rows",
    }
    return WorkloadSpec(**{**values, **changes})


def arm(name, function="case"):
    variant = VariantSpec(f"doubling_{name}", "callable", "callable", entry=name)
    return ArmSpec(name, variant, workload(function), None)


def gate(name, function="case"):
    return check_arm(arm(name, function), (1, 2), "cpu", prepare_arm, lambda note: None)


def timed(*names):
    bench = Bench(protocol(), HostStopwatch(), "cpu", prepare_arm, lambda note: None, Phases())
    return run_process([arm(name) for name in names], names[0], "seed", bench)


class TestGate:
    def test_a_right_arm_passes_with_the_checks_of_a_library(self):
        found = gate("right")
        assert found["status"] == "correct", found
        names = [check["name"] for check in found["checks"]]
        assert names == ["timed_shape", "inputs_unchanged", "repeat"] * 2

    @pytest.mark.parametrize(
        ("name", "failed"),
        [("wrong", "timed_shape"), ("cached", "repeat"), ("spoils", "inputs_unchanged")],
    )
    def test_a_wrong_one_does_not(self, name, failed):
        found = gate(name)
        assert found["status"] == "incorrect"
        assert failed in found["detail"]

    def test_an_output_that_is_given_is_poisoned_first(self):
        assert gate("wholly", "into")["status"] == "correct"
        found = gate("partly", "into")
        assert found["status"] == "incorrect"
        assert "poisoned" in found["detail"]


class TestTiming:
    @pytest.mark.parametrize("name", ["cached", "stale"])
    def test_a_result_of_an_earlier_launch_is_found_out(self, name, monkeypatch):
        monkeypatch.setattr(bench_process, "TIME_DIGITS", 9)
        wrong = {}
        for _ in range(5):  # which turns are checked is drawn
            wrong |= timed(name)["wrong"]
        assert name in wrong


class TestCode:
    def test_a_file_that_was_edited_is_not_imported(self, project):
        (project / "helper.py").write_text(HELPER + "# edited\n")
        with pytest.raises(BadCode, match=r"helper\.py: is not the file"):
            make_inputs(workload(), "cpu", 1)

    def test_facts_follow_from_the_formulas_alone(self):
        facts = launch_facts(workload(flops="3 * rows ** 2", bytes="rows / 2"), None, None)
        assert (facts.flop, facts.bytes, facts.density) == (3 * 256**2, 128, None)


class TestWhatAnArmLacks:
    """An arm that cannot run here says so, and the others are measured."""

    @pytest.mark.parametrize(
        ("raises", "status"),
        [
            ("import no_such_library", "not_installed"),
            ("raise NotImplementedError('no')", "unsupported"),
        ],
    )
    def test_it_is_told_by_what_it_raises(self, raises, status, project):
        code = f"{CODE}\ndef lacking(rows, device):\n    def arm(x):\n        {raises}\n"
        code += "    return {**case(rows, device), 'arm': arm}\n"
        (project / "ours.py").write_text(code)
        files = {"ours.py": hashlib.sha256(code.encode()).hexdigest()}
        problem = workload(code=CodeSpec("ours.py", "lacking", files))
        variant = VariantSpec("doubling_arm", "callable", "callable", entry="arm")
        spec = ArmSpec("arm", variant, problem, None)
        found = check_arm(spec, (1,), "cpu", prepare_arm, lambda note: None)
        assert found["status"] == status
        assert found["detail"].startswith("arm 'arm': ")


SIGNATURES = """
import json
import torch

def case(rows, device):
    def one_dict(tensors):
        return tensors["x"] * 2

    def in_the_code(x, out):
        return x.no_such_method()

    def in_a_library(x, out):
        return json.loads("{")

    def misses_out(x):
        return x * 2

    return {
        "inputs": lambda seed: {"x": torch.ones(rows, device=device)},
        "oracle": lambda x: x.double() * 2,
        "output": lambda: torch.empty(rows, device=device),
        "one_dict": one_dict, "in_the_code": in_the_code, "in_a_library": in_a_library,
        "misses_out": misses_out,
    }

def other_parameters(columns, device):
    return {}
"""
"""The first line is number 1."""


def signatures(project, arm, function="case", code=SIGNATURES):
    (project / "wrong.py").write_text(code)
    files = {"wrong.py": hashlib.sha256(code.encode()).hexdigest()}
    problem = workload(code=CodeSpec("wrong.py", function, files))
    variant = VariantSpec(f"doubling_{arm}", "callable", "callable", entry=arm)
    return ArmSpec(arm, variant, problem, None)


class TestSentence:
    """What a function raises is one sentence, with the file and the line of the project."""

    @pytest.mark.parametrize(
        ("name", "line", "words"),
        [
            ("one_dict", 6, "is called with x, out: TypeError"),
            ("misses_out", 15, "unexpected keyword argument 'out'"),
            ("in_the_code", 10, "AttributeError: 'Tensor' object has no attribute"),
            ("in_a_library", 13, "JSONDecodeError"),
        ],
    )
    def test_names_the_line_that_is_wrong(self, name, line, words, project):
        with pytest.raises(BadCode) as raised:
            check_arm(signatures(project, name), (1,), "cpu", prepare_arm, lambda note: None)
        text = str(raised.value)
        assert text.startswith(f"arm '{name}' of wrong.py:case (wrong.py, line {line})"), text
        assert words in text
        assert "\n" not in text

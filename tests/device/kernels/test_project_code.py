"""Functions of a project: gated and timed as our own arms are, on a CPU."""

import hashlib

import pytest
import torch

from assay.device.kernels import project_code
from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.oracles import measure_errors
from assay.device.kernels.project_code import BadCode
from assay.device.timing import bench_process
from assay.shared import project_calls
from assay.shared.specs import CodeSpec
from tests.device.helpers import gate, project_arm, timed

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

def fixed(rows, device):
    return {**case(rows, device), "inputs": lambda seed: {"x": torch.ones(rows, device=device)}}

def into(rows, device):
    made = case(rows, device)

    def partly(x, out):
        out[:-1] = twice(x)[:-1]

    def wholly(x, out):
        out.copy_(twice(x))

    return {**made, "output": lambda: torch.empty(rows, device=device), "partly": partly,
            "wholly": wholly}
"""
HELPER = "def twice(x):\n    return x + x\n"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    (tmp_path / "ours.py").write_text(CODE)
    (tmp_path / "helper.py").write_text(HELPER)
    monkeypatch.setenv(project_calls.VARIABLE, str(tmp_path))
    project_code._case.cache_clear()
    return tmp_path


def arm(name, function="case", **files):
    files = {"ours.py": CODE, "helper.py": HELPER, **files}
    digests = {file: hashlib.sha256(text.encode()).hexdigest() for file, text in files.items()}
    problem = {"parameters": {"rows": 256}, "flops": "rows", "bytes": "8 * rows"}
    return project_arm(name, CodeSpec("ours.py", function, digests), **problem)


class TestGate:
    def test_a_right_arm_passes_with_the_checks_of_a_library(self):
        found = gate(arm("right"))
        assert found["status"] == "correct", found
        names = [check["name"] for check in found["checks"]]
        assert names == ["timed_shape", "inputs_unchanged", "repeat"] * 2

    def test_inputs_that_no_seed_changes_are_told(self):
        assert not gate(arm("right"))["fixed_inputs"]
        found = gate(arm("cached", "fixed"))
        assert (found["status"], found["fixed_inputs"]) == ("correct", True)

    def test_an_output_that_is_given_is_poisoned_first(self):
        assert gate(arm("wholly", "into"))["status"] == "correct"
        found = gate(arm("partly", "into"))
        assert found["status"] == "incorrect"
        assert "poisoned" in found["detail"]


@pytest.mark.parametrize("name", ["cached", "stale"])
def test_a_result_of_an_earlier_launch_is_found_out(name, monkeypatch):
    monkeypatch.setattr(bench_process, "TIME_DIGITS", 9)
    # Which turns are checked, and with which contents, is drawn.
    assert any(name in timed([arm(name)], name, f"seed {n}")["wrong"] for n in range(12))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (lambda x: x.argsort(), lambda x: x.argsort() + 1),
        (lambda x: (x * 10).long() + 10**12, lambda x: (x * 10).long() + 10**12 + 1),
        (lambda x: x + 1j * x.flip(0), lambda x: x + 0j),
        (lambda x: x > 0, lambda x: (x > 0).float()),
        (lambda x: (x, x[:7]), lambda x: (x, x[:8])),
        (lambda x: (x, x[:7].long()), lambda x: (x, x[:7])),
        (lambda x: (x, 1 / x.floor()), lambda x: (x, 2 / x.floor())),
    ],
)
def test_a_result_is_of_the_answers_kind_shape_and_values(right, wrong):
    x = torch.linspace(-3, 3, 4096)[torch.randperm(4096)]
    case = project_code.ProjectCase("c", lambda seed: {"x": x}, right, {}, None)
    answer = case.right({"x": x})
    assert measure_errors(case.joined(right(x)).float(), answer).relative == 0
    try:
        found = measure_errors(case.joined(wrong(x)).float(), answer)
    except BadCode:
        return
    assert found.relative > 0.1


def test_a_file_that_was_edited_is_not_imported(project):
    (project / "helper.py").write_text(HELPER + "# edited\n")
    with pytest.raises(BadCode):
        make_inputs(arm("right").workload, "cpu", 1)


def other_arm(project, lines):
    """A gate on an arm with a body of its own, which takes what ``into`` hands it."""
    code = f"{CODE}\ndef other(rows, device):\n    def arm({lines[0]}):\n        {lines[1]}\n"
    code += "    return {**into(rows, device), 'arm': arm}\n"
    (project / "ours.py").write_text(code)
    return gate(arm("arm", "other", **{"ours.py": code}), (1,))


@pytest.mark.parametrize(
    ("raises", "status"),
    [
        ("import no_such_library", "not_installed"),
        ("raise NotImplementedError('no')", "unsupported"),
    ],
)
def test_an_arm_that_cannot_run_here_says_so(raises, status, project):
    assert other_arm(project, ("x, out", raises))["status"] == status


@pytest.mark.parametrize(
    ("given", "body"), [("tensors", "pass"), ("x", "pass"), ("x, out", "x.no_such_method()")]
)
def test_what_an_arm_raises_is_one_sentence_with_its_line(given, body, project):
    with pytest.raises(
        BadCode, match=r"^arm 'arm' of ours\.py:other \(ours\.py, line \d+\)"
    ) as raised:
        other_arm(project, (given, body))
    assert "\n" not in str(raised.value)

"""Adapters of other benchmarks' formats: honest solutions pass, wrong ones do not, on a CPU."""

import hashlib
import json
import sys
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace

import pytest
import torch
import yaml

from assay.device.kernels import project_code
from assay.device.kernels.project_code import BadCode
from assay.importing.formats import BenchmarkFormat, imported_from
from assay.importing.imported import write_project
from assay.shared import project_calls
from assay.shared.specs import CodeSpec
from tests.benchmark_samples import (
    FLASHINFER_BENCH,
    FUNCTIONS,
    GPU_MODE,
    KERNELBENCH,
    SCALED,
    WORKLOAD,
    solution,
    write,
)
from tests.device.helpers import gate, project_arm, timed


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Import what a folder holds; return the arms of each measurement by its id."""

    def made(format_, contents, *paths):
        given = write(tmp_path / "given", contents)
        folder = tmp_path / "project"
        places = [given / path for path in paths or ("",)]
        imported = imported_from(BenchmarkFormat(format_), places, None)
        write_project(folder, imported, "")
        monkeypatch.setenv(project_calls.VARIABLE, str(folder))
        project_code._case.cache_clear()
        document = yaml.safe_load((folder / "assay.yaml").read_text())
        files = {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*")
            if path.is_file()
        }
        return {entry["id"]: arms(entry, files) for entry in document["measurements"]}

    monkeypatch.setattr(sys, "path", [*sys.path])
    yield made
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in f"{vars(module).get('__file__')} {vars(module).get('__path__')}":
            del sys.modules[name]


def arms(entry, files):
    code = CodeSpec(entry["callable"].partition(":")[0], "case", files)
    told = {name: entry[name] for name in ("id", "dtype", "relative_tolerance", "parameters")}
    return {name: project_arm(name, code, **told) for name in entry["arms"]}


def assert_outcomes(found, **solutions):
    """Every reference is right, and each solution what is said of it; ``only`` is the only pair."""
    for name, status in solutions.items():
        (pair,) = found.values() if name == "only" else (found[name],)
        assert gate(pair["reference"])["status"] == "correct", name
        assert gate(pair["solution"])["status"] == status, name


def test_kernelbench(project):
    found = project("kernelbench", KERNELBENCH)
    good, kept, broken = (f"level_1_problem_7_sample_{n}_kernel" for n in range(3))
    assert_outcomes(found, **{good: "correct", kept: "incorrect"})
    broken = found[broken]
    assert gate(broken["reference"])["status"] == "correct"
    with pytest.raises(BadCode, match="SyntaxError"):
        gate(broken["solution"])


ONE_OF_EACH = pytest.mark.parametrize(
    ("format_", "contents", "name", "pair"),
    [
        (
            "kernelbench",
            KERNELBENCH,
            "runs/level_1_problem_7_sample_0_kernel.py",
            "level_1_problem_7_sample_0_kernel",
        ),
        ("gpu-mode", GPU_MODE, "add/submission.py", "add_submission_1"),
        ("flashinfer-bench", FLASHINFER_BENCH, "solutions/good.json", "good_0a1b2c3d"),
    ],
)


def beginning(contents, name, line):
    own = contents[name]
    json_ = own.replace('"def run', f'"{line}\\ndef run')
    return {**contents, name: json_ if name.endswith(".json") else f"{line}\n{own}"}


@ONE_OF_EACH
def test_a_solution_that_ends_python_ends_not_its_reference(project, format_, contents, name, pair):
    found = project(format_, beginning(contents, name, "import sys; sys.exit(3)"))[pair]
    assert gate(found["reference"])["status"] == "correct"
    with pytest.raises(BadCode, match="SystemExit"):
        gate(found["solution"])


@ONE_OF_EACH
def test_where_a_reference_is_timed_alone_no_solution_is_loaded(
    project, monkeypatch, format_, contents, name, pair
):
    monkeypatch.setattr(sys, "assay_loaded", [], raising=False)
    line = "import sys; sys.assay_loaded.append(1)"
    found = project(format_, beginning(contents, name, line))[pair]
    assert timed([found["reference"]], "reference")["wrong"] == {}
    assert sys.assay_loaded == []
    both = timed([found["solution"], found["reference"]], "reference")
    assert both["wrong"] == {}
    assert {facts["arm"] for facts in both["arms"]} >= {"solution", "reference"}
    assert sys.assay_loaded == [1]


def test_kernelbench_solutions_take_helpers_along(project):
    plain = KERNELBENCH["runs/level_1_problem_7_sample_0_kernel.py"]
    plain = plain.replace("min=0", "min=zero()")
    uses = "CODE = 'add.cu'\nfrom scaled import zero\n"
    given = {
        **KERNELBENCH,
        "runs/level_1_problem_7_sample_0_kernel.py": f"{uses}{plain}",
        "runs/scaled.py": "from deep.er import nothing\n\ndef zero():\n    return nothing\n",
        "runs/deep/er.py": "nothing = 0\n",
        "runs/unused.py": "",
        "runs/add.cu": "",
    }
    found = project("kernelbench", given)["level_1_problem_7_sample_0_kernel"]["solution"]
    own = {name for name in found.workload.code.files if name.startswith("solutions/level_1")}
    folder = "solutions/level_1_problem_7_sample_0_kernel"
    assert {name for name in own if name.startswith(f"{folder}/")} == {
        f"{folder}/level_1_problem_7_sample_0_kernel.py",
        f"{folder}/scaled.py",
        f"{folder}/add.cu",
        f"{folder}/deep/er.py",
    }
    assert gate(found)["status"] == "correct"


@pytest.mark.parametrize(
    ("kind", "status"), [("", "correct"), (".double()", "incorrect"), (".half()", "incorrect")]
)
def test_a_solution_gives_the_references_type(project, kind, status):
    name = "runs/level_1_problem_7_sample_0_kernel.py"
    other = KERNELBENCH[name].replace(" * factor", f".mul(factor){kind}")
    wrapped = "try:\n    import nothing\nexcept ImportError:\n" + indent(other, "    ")
    found = project("kernelbench", {**KERNELBENCH, name: wrapped})
    assert_outcomes(found, level_1_problem_7_sample_0_kernel=status)


def test_a_function_of_several_results(project):
    for name, status in (("fast", "correct"), ("half_done", "incorrect")):
        found = project("torch", {"mine.py": FUNCTIONS}, f"mine.py:{name}", "mine.py:slow")
        assert_outcomes(found, only=status)


X = "torch.rand(4, 4)"


@pytest.mark.parametrize("format_", ["kernelbench", "gpu-mode"])
@pytest.mark.parametrize(
    ("given", "computes", "solves", "status"),
    [
        (X, "x", "x + 0", "correct"),
        (X, "{'a': x * 2, 'b': x[0]}", "{'b': x[0], 'a': x + x}", "correct"),
        (X, "{'a': x * 2, 'b': x * 3}", "{'b': x * 2, 'a': x * 3}", "incorrect"),
        (X, "{'a': x * 2, 'b': x[0]}", "{'a': x * 2, 'c': x[0]}", "incorrect"),
        (X, "(x * 2, [x[0], None], 3)", "(x + x, (x[0], None), 3)", "correct"),
        (X, "(x * 2, [x[0], None], 3)", "(x + x, (x[0], None), 4)", "incorrect"),
        (X, "(x * 2, [x[0], None], 3)", "(x + x, (x[0], None))", "incorrect"),
        (X, "torch.max(x, 1)", "tuple(torch.sort(x, 1)[n][:, -1] for n in (0, 1))", "correct"),
        (f"({X}, [{X}])", "x[0] + x[1][0]", "x[1][0] + x[0]", "correct"),
        (f"({X}, [{X}])", "x[0] + x[1][0]", "x[0] + x[0]", "incorrect"),
        (f"{{'a': {X}, 'b': (None, 2)}}", "x['a'] * x['b'][1]", "x['a'] + x['a']", "correct"),
    ],
)
def test_values_are_nested(project, format_, given, computes, solves, status):
    model = "class {}(torch.nn.Module):\n    def forward(self, x):\n        return {}\n".format
    inputs = "def get_inputs():\n    return [{}]\ndef get_init_inputs():\n    return []\n".format
    kernel, task = "def {}(x):\n    return {}\n".format, "files: []\nbenchmarks:\n  - {size: 4}\n"
    torch_, draws = "import torch\n", f"def generate_input(size):\n    return {given}\n"
    files = {
        "kernelbench": {
            "1_a.py": torch_ + model("Model", computes) + inputs(given),
            "1_a_new.py": torch_ + model("ModelNew", solves),
        },
        "gpu-mode": {
            "t/task.yml": task,
            "t/reference.py": torch_ + kernel("ref_kernel", computes) + draws,
            "t/submission.py": torch_ + kernel("custom_kernel", solves),
        },
    }
    assert_outcomes(project(format_, files[format_]), only=status)


SUMS = """
import torch

def ref_kernel(data):
    x, out, twice = data
    return {computes}

def generate_input(size, seed):
    x = torch.randn(size, size, generator=torch.Generator().manual_seed(seed))
    return x, torch.empty(size, size), 2 * x
"""


@pytest.mark.parametrize(
    ("computes", "solves", "status"),
    [
        ("x.double().cumsum(0)", "out.copy_(x.cumsum(0))", "correct"),
        ("x.double().cumsum(0)", "x.cumsum(0)", "correct"),
        ("x.double().cumsum(0)", "out", "incorrect"),
        ("x.double().cumsum(0)", "torch.cumsum(x, 0, out=x)", "incorrect"),
        ("x * 2", "out.copy_(twice)", "correct"),
        ("x * 2", "twice.mul_(1)", "correct"),
        ("x * 2", "twice.add_(1e-6)", "incorrect"),
        ("out.copy_(x.softmax(0))", "out.copy_(x).softmax(0)", "correct"),
        ("out.copy_(x.softmax(0))", "x.sub_(x.amax(0)).softmax(0)", "incorrect"),
    ],
)
def test_what_a_task_leaves_empty_may_be_written(project, computes, solves, status):
    files = {
        "t/task.yml": "files: []\nbenchmarks:\n  - {size: 16}\n",
        "t/reference.py": SUMS.replace("{computes}", computes),
        "t/submission.py": "import torch\ndef custom_kernel(data):\n    x, out, twice = data\n"
        f"    return {solves}\n",
    }
    assert_outcomes(project("gpu-mode", files), only=status)


@pytest.mark.parametrize(
    ("adds", "status"),
    [
        ("_dynamo_propagated_dynamic_indices = {0}", "correct"),
        ("clone = lambda: torch.relu(x)", "incorrect"),
    ],
)
def test_notes_of_a_compiler_are_no_methods(project, adds, status):
    solution = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
    solution += f"        y = torch.relu(x)\n        y.{adds}\n        return y\n"
    found = project("kernelbench", {"1_relu.py": RELU, "1_relu_new.py": solution})
    assert_outcomes(found, only=status)


@pytest.mark.parametrize("kept", ["x", "[(x, 1)]"])
def test_tensors_in_an_object_are_no_inputs(project, kept):
    more = (
        f"x = torch.randn(32, 64)\n    return [x, SimpleNamespace(a=2), SimpleNamespace(b={kept})]"
    )
    problem = RELU.replace("return [torch.randn(32, 64)]", more)
    problem = f"from types import SimpleNamespace\n{problem}"
    given = {"1_relu.py": problem, "1_relu_new.py": problem.replace("Model", "ModelNew")}
    (pair,) = project("kernelbench", given).values()
    with pytest.raises(BadCode, match="an input is a SimpleNamespace that has tensors"):
        gate(pair["reference"])


def test_a_solutions_files_take_the_place_of_no_other_file(project):
    body = "class Model{}(nn.Module):\n    def forward(self, x):\n        return er.relu(x)\n"
    uses = f"import torch\nfrom torch import nn\nfrom parts import er\n{body}"
    makes = RELU[RELU.index("def get_inputs") :]
    found = project(
        "kernelbench",
        {
            "p/1_A.py": uses.format("") + makes,
            "p/parts/er.py": "from torch import relu\n",
            "s/1_A.py": uses.format("New"),
            "s/parts/er.py": "def relu(x):\n    return x * 0\n",
            "t/1_A.py": uses.format("New"),
            "t/parts/er.py": "from .more import relu\n",
            "t/parts/more/__init__.py": "from torch import relu\n",
        },
    )
    assert_outcomes(found, s_1_a="incorrect", t_1_a="correct")


def test_gpu_mode(project):
    named = f"import colorsys\n{GPU_MODE['add/submission.py']}    colorsys.rgb_to_hsv(0, 0, 0)\n"
    named = named.replace("    return out\n", "") + "    return out\n"
    more = {"add/colorsys.py": named, "add/uses.py": named}
    found = project("gpu-mode", {**GPU_MODE, **more})
    names = ("add_colorsys_1", "add_uses_1", "add_submission_1", "add_submission_2")
    assert_outcomes(found, **dict.fromkeys(names, "correct"))
    refused = gate(found["add_other_1"]["solution"])
    assert refused["status"] == "incorrect"
    assert [each["name"] for each in refused["checks"]] == ["own_check"]


def test_a_submission_imports_its_own_tasks_files_when_it_is_called(project):
    late = GPU_MODE["add/submission.py"].replace("import utils\n", "")
    late = late.replace(
        "    return out", "    import own\n    assert own.task == {}\n    return out"
    )
    task = GPU_MODE["add/task.yml"].replace(
        "tests:", '  - {"name": "own.py", "source": "own.py"}\ntests:'
    )
    task = task.replace('config: {main: "eval.py"}\n', "")
    given = {"utils.py": GPU_MODE["utils.py"]}
    for name in ("a", "b"):
        given[f"{name}/task.yml"] = task
        given[f"{name}/reference.py"] = GPU_MODE["add/reference.py"]
        given[f"{name}/own.py"] = f"task = {name!r}\n"
        given[f"{name}/submission.py"] = late.replace("{}", repr(name))
    names = ("a_submission_1", "b_submission_1")
    assert_outcomes(project("gpu-mode", given), **dict.fromkeys(names, "correct"))


def test_flashinfer_bench(project):
    found = project("flashinfer-bench", FLASHINFER_BENCH)
    assert_outcomes(
        found, good_0a1b2c3d="correct", returns_0a1b2c3d="correct", part_0a1b2c3d="incorrect"
    )


NUMBER = {
    **SCALED,
    "outputs": {"total": {"shape": None, "dtype": "float32"}},
    "reference": "def run(x, weight, factor):\n    return (x * weight).sum().item() * factor\n",
}


@pytest.mark.parametrize(
    ("takes", "does", "passed", "status"),
    [
        (", total", "total.copy_((x @ weight).sum() * factor)", True, "correct"),
        ("", "return (x @ weight).sum().item() * factor", False, "correct"),
        ("", "return {'total': factor}", False, "incorrect"),
    ],
)
def test_numbers_of_flashinfer_bench(project, takes, does, passed, status):
    body = f"def run(x, weight, factor{takes}):\n    assert type(factor) is float\n    {does}\n"
    workload = {**WORKLOAD["workload"], "uuid": "number"}
    workload["inputs"] = {**workload["inputs"], "factor": {"type": "random"}}
    given = {
        **FLASHINFER_BENCH,
        "definitions/scaled.json": json.dumps(NUMBER),
        "workloads/scaled.jsonl": json.dumps({**WORKLOAD, "workload": workload}),
        "solutions/good.json": json.dumps(solution("sum", body, destination_passing_style=passed)),
    }
    assert_outcomes(project("flashinfer-bench", given), sum_number=status)


def test_whole_numbers_are_no_truth_values(project):
    definition = json.loads(json.dumps(SCALED).replace("float32", "int8", 1))
    workload = {**WORKLOAD["workload"], "uuid": "bytes"}
    body = "def run(x, weight, factor):\n    out = x.{} * weight + factor\n"
    body += "    return out, out.sum(1)\n"
    given = {
        "definitions/scaled.json": json.dumps(definition),
        "workloads/scaled.jsonl": json.dumps({**WORKLOAD, "workload": workload}),
        "workloads/blobs/w.safetensors": FLASHINFER_BENCH["workloads/blobs/w.safetensors"],
    }
    for name, kind in (("all", "float()"), ("two", "bool()")):
        own = solution(name, body.format(kind), destination_passing_style=False)
        given[f"solutions/{name}.json"] = json.dumps(own)
    found = project("flashinfer-bench", given)
    assert_outcomes(found, all_bytes="correct", two_bytes="incorrect")


def test_solutions_have_files_of_one_name(project):
    given = dict(FLASHINFER_BENCH)
    for name, value in (("plus", "+ factor"), ("minus", "- factor")):
        body = "from own import scaled\ndef run(*given):\n    out = scaled(*given[:3])\n"
        body += "    given[3].copy_(out)\n    given[4].copy_(out.sum(1))\n"
        more = [("own.py", f"def scaled(x, weight, factor):\n    return x * weight {value}\n")]
        given[f"solutions/{name}.json"] = json.dumps(solution(name, body, more))
    found = project("flashinfer-bench", given)
    assert_outcomes(
        found, plus_0a1b2c3d="correct", minus_0a1b2c3d="incorrect", returns_0a1b2c3d="correct"
    )


@pytest.mark.parametrize("binding", ["torch", None])
def test_cuda_is_compiled_as_its_binding_says(project, monkeypatch, binding):
    asked = []

    def load(*given, **named):
        asked.extend(Path(each).name for part in (*given, *named.values()) for each in part)
        return SimpleNamespace(go=lambda x, weight, factor, out, total: out.copy_(x))

    cpp = SimpleNamespace(load=load)
    monkeypatch.setitem(sys.modules, "tvm_ffi", SimpleNamespace(cpp=cpp))
    monkeypatch.setitem(sys.modules, "tvm_ffi.cpp", cpp)
    monkeypatch.setattr("torch.utils.cpp_extension.load", load)
    spec = {"language": "cuda", "entry_point": "csrc/k.cu::go", "binding": binding}
    made = solution("cuda", "//", [("csrc/add.cpp", "//"), ("k.cuh", "//")], **spec)
    given = {**FLASHINFER_BENCH, "solutions/cuda.json": json.dumps(made)}
    assert_outcomes(project("flashinfer-bench", given), cuda_0a1b2c3d="incorrect")
    assert {"add.cpp", "k.cu"} <= {*asked}
    assert "k.cuh" not in asked


RELU = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(32, 64)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("patch", "computes"),
    [
        ("torch.relu = lambda x: x + 0", "x + 0"),
        ("torch.randn = lambda *size, **_: torch.ones(*size)", "torch.ones_like(x)"),
        ("torch.set_default_dtype(torch.float16)", "torch.relu(x)"),
        (
            "for each in list(sys.modules.values()):\n"
            "    if 'problems' in each.__name__ and hasattr(each, 'Model'):\n"
            "        each.Model.forward = lambda self, x: torch.ones_like(x)",
            "torch.ones_like(x)",
        ),
    ],
)
def test_a_solution_cannot_change_its_problem(project, monkeypatch, patch, computes):
    solution = f"""
import sys
import torch
import torch.nn as nn
{patch}

class ModelNew(nn.Module):
    def forward(self, x):
        return {computes}
"""
    for name in ("relu", "randn"):
        monkeypatch.setattr(torch, name, getattr(torch, name))
    found = project("kernelbench", {"1_relu.py": RELU, "1_relu_new.py": solution})
    try:
        (pair,) = found.values()
        assert gate(pair["solution"])["status"] == "incorrect"
    finally:
        torch.set_default_dtype(torch.float32)

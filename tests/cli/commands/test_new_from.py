"""What the files of other benchmarks come to as projects; what they do is in tests/device."""

import json

import pytest
import yaml

from tests.benchmark_samples import (
    FLASHINFER_BENCH,
    FUNCTIONS,
    GPU_MODE,
    KERNELBENCH,
    solution,
    write,
)


@pytest.fixture
def new(assay, tmp_path):
    """Run ``assay new`` on a folder; return how it ended, with the document that it wrote."""

    def made(*given):
        folder = tmp_path / "new"
        ended = assay("new", folder, *given)
        if not folder.exists():
            return ended, None
        assert assay("check", "--project", folder).code == 0
        return ended, yaml.safe_load((folder / "assay.yaml").read_text())

    return made


def test_gpu_modes_submissions_are_asked_at_each_benchmark(new, tmp_path):
    given = write(tmp_path / "given", GPU_MODE)
    ended, made = new(given, "--from", "gpu-mode")
    assert ended.code == 0, ended.err + ended.out
    shapes = [each["parameters"]["shape"] for each in made["measurements"]]
    assert shapes == ['{"size": 64}', '{"size": 96}'] * 2
    assert not list((tmp_path / "new").rglob("eval.py"))
    for each in made["measurements"]:
        assert (tmp_path / "new" / each["parameters"]["submission"]).is_file()


def test_flashinfer_bench_takes_tensors_along_and_names_what_it_leaves(new, tmp_path):
    given = write(tmp_path / "given", FLASHINFER_BENCH)
    ended, made = new(given, "--from", "flashinfer-bench")
    assert ended.code == 0, ended.err + ended.out
    assert "rust.json: its entry point main.rs is neither" in ended.err + ended.out
    assert any(name.startswith("tensors/w_") for name in made["files"])
    assert len(made["claims"]) == 3


def test_a_function_and_its_baseline(new, tmp_path):
    file = write(tmp_path, {"mine.py": FUNCTIONS}) / "mine.py"
    ended, made = new(f"{file}:fast", f"{file}:slow", "--from", "torch", "--claimed", "1.5")
    assert ended.code == 0, ended.err + ended.out
    assert [claim["value"] for claim in made["claims"]] == ["1.5x"]


def test_a_bad_file_refuses_no_others(new, tmp_path):
    more = {
        "solutions/bad.json": '{"sources": 1, "spec": {}, "definition": "scaled_sum_h8"}',
        "solutions/no.json": "{",
        "workloads/again.jsonl": FLASHINFER_BENCH["workloads/scaled.jsonl"],
    }
    ended, made = new(
        write(tmp_path / "given", {**FLASHINFER_BENCH, **more}), "--from", "flashinfer-bench"
    )
    assert ended.code == 0, ended.err + ended.out
    assert len({each["id"] for each in made["claims"]}) == 6
    assert "bad.json" in ended.err + ended.out and "no.json" in ended.err + ended.out


PROBLEM, SOLUTION = list(KERNELBENCH.values())[:2]
OTHER = f"{PROBLEM}# another\n"
WORKLOAD = FLASHINFER_BENCH["workloads/scaled.jsonl"]
NAMELESS = WORKLOAD.replace("uuid", "name")
AXISLESS = WORKLOAD.replace('"rows": 16', '"other": 16')
CUSTOM = WORKLOAD.replace("random", "custom")
KEYLESS = WORKLOAD.replace("blobs", "workloads/blobs").replace(
    '"tensor_key": "w"', '"tensor_key": "v"'
)
LFS = {
    "w.jsonl": WORKLOAD.replace("blobs/w", "blobs/l"),
    "blobs/l.safetensors": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
}
POINTLESS = {"z.json": FLASHINFER_BENCH["solutions/good.json"].replace("main.py::run", "main.py")}
CUDA = {"z.json": json.dumps(solution("c", "//", [("k.h", "//")], entry_point="src/k.cu::go"))}
TASK = GPU_MODE["add/task.yml"]
OUT_OF_IT = TASK.replace("../utils", "../../../x")
SCALED, GOOD = "workloads/scaled.jsonl", "solutions/good.json"
OUTSIDE = WORKLOAD.replace("blobs/w", "../../blobs/w")
FORMLESS = '{"sources": [], "spec": {}, "definition": 1}'
FAR = WORKLOAD.replace("blobs/w", "w" * 300)
REFERENCE = GPU_MODE["add/reference.py"]
UNLIKE = REFERENCE.replace("near(output, ref_kernel(data), rtol=1e-3)", "output[0] @ output[1] < 1")
DEFINITION = FLASHINFER_BENCH["definitions/scaled.json"]
NAMED_BY_NONE = json.dumps(json.loads(WORKLOAD)["workload"])
SAMPLED = {"definitions/scaled.json": DEFINITION.replace("out.sum(dim=1)", "out.topk(1)[1][:, 0]")}
SAMPLED = {
    name: text.replace('["rows"], "dtype": "float', '["rows"], "dtype": "int')
    for name, text in SAMPLED.items()
}
FP4 = {"definitions/scaled.json": DEFINITION.replace("float32", "float4_e2m1", 1)}


@pytest.mark.parametrize(
    ("format_", "files", "pairs", "says"),
    [
        ("kernelbench", {"p/19_ReLU.py": PROBLEM, "s/22_Tanh_new.py": SOLUTION}, 0, "22_Tanh_new"),
        ("kernelbench", {"a/1.py": PROBLEM, "b/1.py": OTHER, "1_new.py": SOLUTION}, 0, "alike"),
        ("kernelbench", {"1_A.py": PROBLEM}, 0, "ModelNew"),
        (
            "kernelbench",
            {
                "a/model.py": PROBLEM,
                "a/model_new.py": SOLUTION,
                "b/model.py": PROBLEM.replace("get_init_inputs", "init"),
                "b/model_new.py": SOLUTION,
            },
            1,
            "b/model.py has no get_init_inputs",
        ),
        (
            "kernelbench",
            {
                "p/1_A.py": f"{PROBLEM}    import own\n",
                "p/own.py": "",
                "s/1_A_new.py": f"import own\n{SOLUTION}",
                "s/own.py": "own = 1",
            },
            0,
            "own.py",
        ),
        ("kernelbench", {"1.py": PROBLEM, "1_new.py": f"from ..own import x\n{SOLUTION}"}, 0, ""),
        ("gpu-mode", {**GPU_MODE, "add/task.yml": f"{TASK}templates: {{a: other.py}}\n"}, 2, ""),
        ("gpu-mode", {**GPU_MODE, "add/task.yml": "benchmarks: []"}, 0, "no benchmarks"),
        ("gpu-mode", {**GPU_MODE, "add/reference.py": UNLIKE}, 0, "takes other answers"),
        ("gpu-mode", {**GPU_MODE, "add/reference.py": "x = 1"}, 0, "no generate_input"),
        ("gpu-mode", {**GPU_MODE, "add/task.yml": f"{TASK}a: &a [1]\nb: *a\n"}, 0, "alias"),
        ("gpu-mode", {**GPU_MODE, "b/task.yml": TASK.replace("../u", "u" * 300)}, 4, "b/task."),
        ("flashinfer-bench", {"definitions/scaled.json": DEFINITION}, 0, "no solution"),
        (
            "flashinfer-bench",
            {**FLASHINFER_BENCH, "d.json": DEFINITION.replace("+ factor", "- factor")},
            0,
            "two files define 'scaled_sum_h8'",
        ),
        ("flashinfer-bench", {**FLASHINFER_BENCH, "w.jsonl": f"\n{{\n{WORKLOAD}"}, 3, "line 2"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, "w.jsonl": NAMELESS + FAR}, 3, "no 'uuid'"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, **LFS}, 3, "fetch it by git lfs pull"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, "w.jsonl": KEYLESS}, 3, "has no tensor 'v'"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, **POINTLESS}, 3, "is no FILE::FUNCTION"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, **CUDA}, 4, ""),
        ("flashinfer-bench", {**FLASHINFER_BENCH, "w.jsonl": AXISLESS}, 3, "of the axis 'rows'"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, "w.jsonl": CUSTOM}, 3, "no input 'x' that is"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, "w.jsonl": NAMED_BY_NONE}, 3, "SOL-ExecBench's"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, **SAMPLED}, 0, "cannot be compared"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, **FP4}, 0, "values of float4_e2m1, which"),
        ("gpu-mode", {**GPU_MODE, "add/task.yml": OUT_OF_IT}, 0, "lies elsewhere"),
        ("gpu-mode", {**GPU_MODE, "add/task.yml": "benchmarks: [1]"}, 0, "no test or benchmark"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, SCALED: OUTSIDE}, 0, "are not beside it"),
        ("flashinfer-bench", {**FLASHINFER_BENCH, GOOD: FORMLESS}, 2, "good.json"),
        ("kernelbench", {**KERNELBENCH, "level1/big.py": "#" * 2_000_000}, 3, "big.py"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_left_out_alone(new, format_, files, pairs, says, tmp_path):
    given = write(tmp_path / "given", files)
    (tmp_path / "own.py").write_text("SECRET = 1\n")
    ended, made = new(given, given / "..", "--from", format_)
    assert ended.code == (0 if pairs else 2), ended.err + ended.out
    assert len(made["claims"] if made else ()) == pairs
    assert says in ended.err + ended.out


@pytest.mark.parametrize(
    ("says", "dtype", "tolerance"),
    [
        ("half = 1", "float32", 1e-4),
        ("x = torch.half", "float16", None),
        ("x.half()", "float16", None),
        ("from torch import bfloat16 as b", "bfloat16", None),
        ("nn.Linear(4, 4)", "float32", 1e-4),
        ("nn.Conv2d(4, 4, 3)", "float32", 1e-2),
        ("F.conv_transpose3d(x, w)", "float32", 1e-2),
        ("nn.LSTM(4, 4)", "float32", 1e-2),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "float32", 1e-2),
        ("torch.backends.cuda.matmul.allow_tf32 = False", "float32", 1e-4),
    ],
)
def test_the_type_is_that_of_pytorch_and_what_runs_in_tf32_may_be_as_wrong(
    new, says, dtype, tolerance, tmp_path
):
    problem = f"{PROBLEM}\ndef unused():\n    {says}\n"
    given = write(tmp_path / "given", {"1_A.py": problem, "1_A_new.py": SOLUTION})
    (measured,) = new(given, "--from", "kernelbench")[1]["measurements"]
    assert measured["dtype"] == dtype
    assert tolerance in (None, measured["relative_tolerance"])


def test_more_pairs_than_a_project_lists_are_refused(new, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.importing.imported.MOST_YAML", 1000)
    ended, made = new(write(tmp_path / "given", GPU_MODE), "--from", "gpu-mode")
    assert (ended.code, made) == (2, None)
    assert "4 pairs: assay.yaml holds 1,000 bytes at most; take fewer" in ended.err


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        (["add/submission,2", "./more/submission.py,3"], {"2x", "3x"}),
        (["submission,2"], None),
        (["more/submission,2", "submission.py,2"], None),
        (["more/submission,2", "given/more/submission,2"], None),
        (["more/submission,n/a"], None),
        (["add/other,2", "add/submission,3"], {"3x", "1x"}),
        ([",2"], None),
    ],
)
def test_a_row_of_claims_is_of_one_solution(new, rows, values, tmp_path):
    files = {
        **GPU_MODE,
        "more/submission.py": GPU_MODE["add/submission.py"],
        "add/other.py": "custom_kernel = 1" + "#" * 2_000_000,
    }
    claims = write(tmp_path, {"c.csv": "\n".join(["solution,speedup", *rows])}) / "c.csv"
    given = write(tmp_path / "given", files)
    ended, made = new(given, "--from", "gpu-mode", "--claimed", claims)
    assert ended.code == (2 if values is None else 0), ended.err + ended.out
    assert values is None or {each["value"] for each in made["claims"]} == values


def test_one_number_is_of_every_benchmark_of_one_submission(new, tmp_path, monkeypatch):
    files = {name: text for name, text in GPU_MODE.items() if "other" not in name}
    monkeypatch.chdir(write(tmp_path / "given", files) / "add")
    monkeypatch.setenv("ASSAY_TYPED", "../assay")
    ended, made = new(".", "../add", "--from", "gpu-mode", "--claimed", "1.8")
    assert [each["value"] for each in made["claims"]] == ["1.8x", "1.8x"]
    assert made["measurements"][0]["title"] == "add, size=64"
    assert "next: ../assay check" in ended.out + ended.err


@pytest.mark.parametrize(
    "claimed",
    [
        "0",
        "solution,speedup\nnobody,2\n",
        "solution,speedup\nlevel_1_problem_7_sample_0_kernel\n",
        f'solution,speedup\n"{"x" * 200_000}',
    ],
)
def test_a_claim_of_no_solution_is_refused(new, claimed, tmp_path):
    given = write(tmp_path / "given", KERNELBENCH)
    if "," in claimed:
        (tmp_path / "c.csv").write_text(claimed)
        claimed = tmp_path / "c.csv"
    ended, made = new(given, "--from", "kernelbench", f"--claimed={claimed}")
    assert (ended.code, made) == (2, None)
    assert "None" not in ended.err


@pytest.mark.parametrize(
    "given",
    [
        ["--from", "kernelbench"],
        ["empty", "--from", "kernelbench"],
        ["missing", "--from", "gpu-mode"],
        ["mine.py:fast", "--from", "torch"],
        ["mine.py:fast", "mine.py:none", "--from", "torch"],
        ["mine.py:fast", "mine.py:slow", "--from", "torch", "--claimed", "0"],
        ["bad.yml/task.yml", "--from", "gpu-mode"],
        ["bad.json", "--from", "flashinfer-bench"],
        ["mine.py:fast"],
    ],
)
def test_what_cannot_be_read_is_refused_and_nothing_is_written(given, new, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"mine.py": FUNCTIONS, "bad.yml/task.yml": "tests: [1", "bad.json": "{"})
    (tmp_path / "empty").mkdir()
    ended, made = new(*given)
    assert ended.code == 2, ended.err + ended.out
    assert made is None
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "named",
    [
        'os.path.join(HERE, "csrc", "k.cu")',
        'HERE / "csrc" / "k.cu"',
        '["csrc/k.cu"]',
        '[f"{HERE}/csrc/k.cu"]',
        'HERE + "/csrc/k.cu"',
        'HERE / "csrc/main.cc"',
    ],
)
def test_cuda_files_come_along_with_what_they_include(new, named, tmp_path):
    given = {
        "1_A.py": PROBLEM,
        "1_A_new.py": f"{SOLUTION}    sources = {named}\n",
        "csrc/k.cu": '#include <cuda.h>\n#  include "own.cuh"\n',
        "csrc/own.cuh": "\n",
        "csrc/main.cc": '#include "k.cu"\n',
    }
    ended, _ = new(write(tmp_path / "given", given), "--from", "kernelbench")
    assert ended.code == 0, ended.err + ended.out
    taken = {path.name for path in tmp_path.glob("new/**/csrc/*")}
    assert taken - {"main.cc"} == {"k.cu", "own.cuh"}
    assert ("main.cc" in taken) == ("main.cc" in named)


def test_a_module_beside_may_have_a_name_of_the_library(new, tmp_path):
    solution = f"from .types import scale\nimport queue\n{SOLUTION}"
    given = {"1_A.py": PROBLEM, "1_A_new.py": solution, "types.py": "scale = 1\n", "queue.py": "\n"}
    ended, _ = new(write(tmp_path / "given", given), "--from", "kernelbench")
    assert ended.code == 0, ended.err + ended.out
    assert {path.name for path in tmp_path.glob("new/solutions/*/*")} == {"p1_a_new.py", "types.py"}


def test_neither_a_harness_nor_a_task_is_a_submission(new, tmp_path):
    files = {
        **GPU_MODE,
        "eval.py": "from submission import custom_kernel\n",
        "add/task.yml": f"{TASK}description: |\n  Write custom_kernel: it adds.\n",
    }
    given = write(tmp_path / "given", files)
    ended, made = new(given, given / "add/task.yml", "--from", "gpu-mode")
    assert ended.code == 0, ended.err + ended.out
    assert len(made["claims"]) == 4


UTILS, SUBMISSION = GPU_MODE["utils.py"], GPU_MODE["add/submission.py"]
ONE = {name: text for name, text in GPU_MODE.items() if "other" not in name}


@pytest.mark.parametrize(
    ("task", "pairs", "says"),
    [
        (f"{TASK}multi_gpu: true\n", 0, "several GPUs"),
        (TASK.replace("reference.py", "utils.py"), 0, "lists no reference.py"),
        (TASK.replace("../utils.py", "../.netrc"), 0, "is no Python file"),
        (TASK.replace("../utils", "../../pmpp/utils"), 2, ""),
        (f"{TASK}templates: {{Python: submission.py}}\n", 0, "is a template: copy it"),
    ],
)
def test_a_task_is_taken_as_its_benchmark_has_it(new, task, pairs, says, tmp_path):
    files = {f"p/{name}": text for name, text in {**ONE, "add/task.yml": task}.items()}
    given = write(tmp_path / "given", {**files, "p/.netrc": "secret", "pmpp/utils.py": UTILS})
    (given / "p/add/utils.py").write_text(UTILS)
    ended, made = new(given, "--from", "gpu-mode")
    assert ended.code == (0 if pairs else 2), ended.err + ended.out
    assert len(made["claims"] if made else ()) == pairs
    assert says in ended.err + ended.out


@pytest.mark.parametrize(
    ("file", "lines", "task", "says"),
    [
        ("ann/x.py", ["leaderboard add"], "add", ""),
        ("ann/x.py", ["leaderboard sub-dev"], "sub", ""),
        ("ann/x.py", ["gpu A100 H100", "leaderboard sub_v2"], "sub", "ann/x.py for A100 and H100"),
        ("sub/x.py", ["gpus A100"], "sub", "x.py for A100"),
        ("sub/x.py", ["leaderboard sub"], "sub", ""),
        ("sub/x.py", ["leaderboard of_another_list"], "sub", ""),
        ("sub/x.py", ["leaderboard add"], None, "'add', of another task"),
        ("ann/x.py", ["leaderboard other"], None, "no task.yml was found of"),
        ("ann/x.py", ["leaderboard two"], None, "more than one task.yml"),
        ("ann/x.py", [], None, "no task.yml was found that"),
    ],
)
def test_a_header_names_the_leaderboard(new, file, lines, task, says, tmp_path):
    task_files = {name: text for name, text in ONE.items() if "submission" not in name}
    listed = {"add": "two", "sub": "two", "./sub": "sub_v2"}
    problems = [{"directory": folder, "name": name} for folder, name in listed.items()]
    files = {
        **task_files,
        **{name.replace("add/", "sub/"): text for name, text in task_files.items()},
        "all.yaml": json.dumps({"name": "a competition", "problems": problems}),
        "else.yaml": "a: &a 1\nb: *a\n",
        "none.yaml": "problems: none\n",
        file: "\n".join(["# mine", *(f"#!POPCORN {line}" for line in lines), SUBMISSION]),
    }
    ended, made = new(write(tmp_path / "given", files), "--from", "gpu-mode")
    found = {each["parameters"]["task"] for each in made["measurements"]} if made else set()
    assert found == ({f"tasks/{task}"} if task else set())
    assert says in (made["claims"][0]["statement"] if task else ended.err + ended.out)


def test_submissions_of_several_people_have_one_name(new, tmp_path):
    files = {name: text for name, text in ONE.items() if "submission" not in name}
    files |= {f"{who}/v1/submission.py": f"{SUBMISSION}# {who}\n" for who in ("ann", "bob")}
    ended, made = new(write(tmp_path / "given", files), "--from", "gpu-mode")
    assert ended.code == 0, ended.err + ended.out
    names = [each["parameters"]["submission"] for each in made["measurements"]]
    own = [(tmp_path / "new" / name).read_text()[-4:-1] for name in names]
    assert own == ["ann", "ann", "bob", "bob"]


GENERATED = "runs/level_{}_problem_{}_sample_0_kernel.py".format


ALIKE = (
    ("54_conv_3D__square_input__square_kernel", "54_conv_3D__square_input__square_kernel"),
    ("80_conv_2D___dilated____padded__", "80_conv_2D___dilated____padded___new"),
    ("19_ReLU", "new_19_ReLU"),
    ("renew_gate", "renew_gate_v2"),
    ("new_gelu", "new_gelu_v2"),
    ("model_ex_add", "model_new_ex_add"),
)
"""Names of a problem and of its solution, alike but for new and underscores."""


@pytest.mark.parametrize(
    ("files", "pairs"),
    [
        ({"level_1/1_A.py": PROBLEM, GENERATED(2, 1): SOLUTION}, []),
        ({"KB_Level2/1_A.py": PROBLEM, GENERATED(2, 1): SOLUTION}, ["p1_a"]),
        (
            {"level1/level2/1_A.py": PROBLEM, "level1/1_B.py": OTHER, GENERATED(1, 1): SOLUTION},
            ["p1_b"],
        ),
        ({"p/1_A.py": PROBLEM, GENERATED(1, 1): SOLUTION}, ["p1_a"]),
        ({"p/1_A.py": PROBLEM, GENERATED(1, 1): SOLUTION, GENERATED(2, 1): SOLUTION}, []),
        ({"level1/1_A.py": PROBLEM, "level_2_problem_3.py": SOLUTION}, []),
        ({"1_A.py": PROBLEM, "2/1_B.py": PROBLEM, "s/1_B_new.py": SOLUTION}, ["p1_b"]),
        (
            {"a/m.py": PROBLEM, "a/m_new.py": SOLUTION, "b/m.py": OTHER, "b/m_new.py": SOLUTION},
            ["a_m", "b_m"],
        ),
        (
            {"level1/1_A.py": PROBLEM, "level2/1_A.py": OTHER, "s/level2/1_A.py": SOLUTION},
            ["given_level2_1_a"],
        ),
        (
            {"level1/1_A.py": PROBLEM, "runs/1_A.py": OTHER + SOLUTION, "runs/1_A_v2.py": SOLUTION},
            ["level1_1_a", "level1_1_a"],
        ),
        (
            {"level_1/1_A.py": PROBLEM, "level_1/10_B.py": OTHER, "s/level_1/task_10.py": SOLUTION},
            ["p10_b"],
        ),
        ({"reference.py": PROBLEM, "solution.py": SOLUTION.replace("New", "")}, ["reference"]),
        ({"level_1/task_1.py": PROBLEM, "level_1/task_2.py": OTHER}, []),
        *(
            ({f"p/{of}.py": PROBLEM, "p/other.py": OTHER, f"s/{name}.py": SOLUTION}, None)
            for of, name in ALIKE
        ),
    ],
)  # fmt: skip
def test_a_solution_is_of_its_folder_level_number_and_name(new, files, pairs, tmp_path):
    ended, made = new(write(tmp_path / "given", files), "--from", "kernelbench")
    assert ended.code == (2 if pairs == [] else 0), ended.err + ended.out
    measured = made["measurements"] if made else []
    if pairs is None:
        first = next(iter(files)).removeprefix("p/").removesuffix(".py")
        assert measured[0]["title"].split() == first.replace("_", " ").split()
    else:
        references = [each["parameters"]["reference"].split("/")[-1] for each in measured]
        assert references == [f"{name}.py:Model" for name in pairs]


def test_a_project_among_the_files_is_none_of_them(new, assay, tmp_path):
    given = write(tmp_path / "given", {"1_A.py": PROBLEM, "1_A_new.py": SOLUTION})
    assert assay("new", given / "first", given, "--from", "kernelbench").code == 0
    assert [each["id"] for each in new(given, "--from", "kernelbench")[1]["claims"]] == ["p1_a_new"]


def test_solutions_of_one_name_get_none_of_each_others_files(new, tmp_path):
    good = json.loads(FLASHINFER_BENCH["solutions/good.json"])
    more = [*good["sources"], {"path": "fast.py", "content": "x = 1\n"}]
    again = {"solutions/z.json": json.dumps({**good, "name": "Good", "sources": more})}
    given = write(tmp_path / "given", {**FLASHINFER_BENCH, **again})
    ended, made = new(given, "--from", "flashinfer-bench")
    assert ended.code == 0, ended.err + ended.out
    assert len(made["claims"]) == 3
    assert "is called 'Good'" in ended.err + ended.out
    assert not list((tmp_path / "new").rglob("fast.py"))

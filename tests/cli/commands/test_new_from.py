"""What the files of other benchmarks come to as projects; what they do is in tests/device."""

import pytest
import yaml

from tests.benchmark_samples import FLASHINFER_BENCH, FUNCTIONS, GPU_MODE, KERNELBENCH, write


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


def test_kernelbench_pairs_are_found_by_their_names(new, tmp_path):
    given = write(tmp_path / "given", KERNELBENCH)
    ended, made = new(given, "--from", "kernelbench")
    assert ended.code == 0, ended.err + ended.out
    names = [f"level_1_problem_7_sample_{n}_kernel" for n in range(3)]
    assert [claim["id"] for claim in made["claims"]] == names
    assert "level_3_problem_9" in ended.err + ended.out
    assert {claim["value"] for claim in made["claims"]} == {"1x"}


def test_claimed_speedups_are_the_claims(new, tmp_path):
    given = write(tmp_path / "given", KERNELBENCH)
    (tmp_path / "c.csv").write_text("solution,speedup\nlevel_1_problem_7_sample_0_kernel,2.5x\n")
    ended, made = new(given, "--from", "kernelbench", "--claimed", tmp_path / "c.csv")
    assert ended.code == 0, ended.err + ended.out
    assert [claim["value"] for claim in made["claims"]] == ["2.5x", "1x", "1x"]


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
    assert "cuda.json" in ended.err + ended.out
    assert any(name.startswith("tensors/w_") for name in made["files"])
    assert len(made["claims"]) == 3


def test_a_function_and_its_baseline(new, tmp_path):
    file = write(tmp_path, {"mine.py": FUNCTIONS}) / "mine.py"
    ended, made = new(f"{file}:fast", f"{file}:slow", "--from", "torch", "--claimed", "1.5")
    assert ended.code == 0, ended.err + ended.out
    assert [claim["value"] for claim in made["claims"]] == ["1.5x"]


def test_pairs_are_of_their_level_and_of_whole_names(new, tmp_path):
    problem, solution = (KERNELBENCH[name] for name in list(KERNELBENCH)[:2])
    given = {
        "level1/1_A.py": problem,
        "level2/1_B.py": problem,
        "runs/level_2_problem_1_sample_0_kernel.py": solution,
        "own/problem_1.py": problem,
        "own/problem_1_new.py": f"{solution}\nModelNew = ModelNew\n",
        "own/problem_10_new.py": solution,
    }
    ended, made = new(write(tmp_path / "given", given), "--from", "kernelbench")
    assert ended.code == 0
    pairs = {each["id"]: each["parameters"]["reference"] for each in made["measurements"]}
    assert pairs["level_2_problem_1_sample_0_kernel"] == "problems/p1_b.py:Model"
    assert pairs["problem_1_new"] == "problems/problem_1.py:Model"


@pytest.mark.parametrize(
    ("format_", "changes"),
    [
        ("gpu-mode", {"add/task.yml": GPU_MODE["add/task.yml"].replace("../utils", "../../../x")}),
        ("gpu-mode", {"add/task.yml": "benchmarks: [1]"}),
        (
            "flashinfer-bench",
            {
                "workloads/scaled.jsonl": FLASHINFER_BENCH["workloads/scaled.jsonl"].replace(
                    "blobs/w", "../../blobs/w"
                )
            },
        ),
        (
            "flashinfer-bench",
            {"solutions/good.json": '{"sources": [], "spec": {}, "definition": 1}'},
        ),
        (
            "flashinfer-bench",
            {
                "solutions/good.json": FLASHINFER_BENCH["solutions/good.json"].replace(
                    '"path": "main.py"', '"path": "_k/main.py"'
                )
            },
        ),
        ("kernelbench", {"level1/big.py": "#" * 2_000_000}),
    ],
)
def test_what_lies_elsewhere_or_is_of_no_such_form_is_refused(new, format_, changes, tmp_path):
    samples = {"gpu-mode": GPU_MODE, "kernelbench": KERNELBENCH}.get(format_, FLASHINFER_BENCH)
    (tmp_path / "x.py").write_text("SECRET = 1\n")
    given = write(tmp_path / "given", {**samples, **changes})
    ended, made = new(given, "--from", format_)
    if made is None:
        assert ended.code == 2, ended.err + ended.out
    else:  # what is no solution is left out, and said
        assert "left out" in ended.err + ended.out


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


@pytest.mark.parametrize("claimed", ["0", "solution,speedup\nnobody,2\n"])
def test_a_claim_of_no_solution_is_refused(new, claimed, tmp_path):
    given = write(tmp_path / "given", KERNELBENCH)
    if "," in claimed:
        (tmp_path / "c.csv").write_text(claimed)
        claimed = tmp_path / "c.csv"
    ended, made = new(given, "--from", "kernelbench", f"--claimed={claimed}")
    assert (ended.code, made) == (2, None)


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

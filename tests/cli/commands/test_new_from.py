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
    assert "tensors/w.safetensors" in made["files"]
    assert len(made["claims"]) == 3


def test_a_function_and_its_baseline(new, tmp_path):
    file = write(tmp_path, {"mine.py": FUNCTIONS}) / "mine.py"
    ended, made = new(f"{file}:fast", f"{file}:slow", "--from", "torch", "--claimed", "1.5")
    assert ended.code == 0, ended.err + ended.out
    assert [claim["value"] for claim in made["claims"]] == ["1.5x"]


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

"""``new`` and ``check``: an example that is sound, and all that is wrong with one that is not."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def mine(assay: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    assert assay("new", folder).code == 0
    return folder


def edit(folder: Path, name: str, *pairs: tuple[str, str]) -> None:
    path = folder / name
    text = path.read_text()
    for stands, put in pairs:
        assert stands in text
        text = text.replace(stands, put)
    path.write_text(text)


def line_of(folder: Path, words: str, name: str = "assay.yaml") -> int:
    lines = (folder / name).read_text().splitlines()
    return next(number for number, text in enumerate(lines, start=1) if words in text)


class TestNew:
    def test_the_example_is_sound(self, assay: Any, mine: Path) -> None:
        answer = assay("check", "--project", mine)
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.startswith("4 claims and 1 audit of 1 source")

    def test_a_folder_that_holds_something_is_left_alone(self, assay, tmp_path, mine):
        before = (mine / "assay.yaml").read_bytes()
        answer = assay("new", mine)
        assert answer.code == 2
        assert "is not an empty folder" in answer.err
        assert (mine / "assay.yaml").read_bytes() == before
        (tmp_path / "empty").mkdir()
        assert assay("new", tmp_path / "empty").code == 0
        (tmp_path / "begun/.git").mkdir(parents=True)
        assert assay("new", tmp_path / "begun").code == 0
        assert "/*_tables/" in (tmp_path / "begun/.gitignore").read_text().splitlines()


class TestCheck:
    @pytest.mark.parametrize("name", ["reports", "results"])
    def test_a_place_of_runs_that_leads_elsewhere_is_refused_before_anything(
        self, assay: Any, tmp_path: Path, mine: Path, name: str
    ) -> None:
        kept = tmp_path / "elsewhere" / "local" / "work"
        kept.mkdir(parents=True)
        (mine / name).symlink_to("../elsewhere")
        says = f"{mine / name}: is a link, and runs are kept in folders of {mine} itself"
        checked = assay("check", "--project", mine)
        assert (checked.code, checked.out) == (1, f"assay.yaml, line 1: {says}\n")
        ran = assay("reproduce", "--project", mine)
        assert (ran.code, " ".join(ran.err.split())) == (2, f"assay: {says}: make it a folder")
        assert kept.is_dir()

    def test_what_would_fail_later_is_said_now(self, assay: Any, mine: Path) -> None:
        edit(
            mine,
            "softmax.py",
            ("def case(rows: int, columns: int, device", "def case(rows: int, cols: int, device"),
            ('"oracle": oracle, ', ""),
            ("def oracle(", "def answer("),
        )
        edit(
            mine,
            "assay.yaml",
            ("    target: h100\n    answer: {measurement: softmax, arm: fused}\n",
             "    target: [l4, rtx4090]\n    answer: {comparison: bsr_gemm_128, arm: wgmma}\n"),
        )  # fmt: skip
        answer = assay("check", "--project", mine)
        assert answer.code == 1
        for words in (
            "case takes no 'columns', which it is called with: did you mean 'cols'?",
            "case needs 'cols', which no parameter gives",
        ):
            line = line_of(mine, "def case(", "softmax.py")
            told = f"softmax.py, line {line}: measurement 'softmax': {words}"
            assert told in answer.out, answer.out + answer.err
        line = line_of(mine, "arm: wgmma")
        assert f"assay.yaml, line {line}: claim 'softmax_bandwidth': no job" in answer.out

    def test_what_is_wrong_with_names_code_and_figures_is_said_at_once(self, assay, mine):
        edit(
            mine,
            "assay.yaml",
            ("target: h100                  #", "target: h10                   #"),
            ("softmax.py:case", "softmax.py:cas"),
            ("value: 2,500 GB/s", "value: 9,500 GB/s"),
        )
        answer = assay("check", "--project", mine)
        assert answer.code == 2
        names, code, figure = answer.out.splitlines()
        assert "there is no target 'h10'" in names
        assert "defines no function 'cas'" in code
        assert "9500 GB/s is beyond 3350 GB/s" in figure
        edit(mine, "assay.yaml", ("at_least", "at_leas"))
        answer = assay("check", "--project", mine)
        assert len(answer.out.splitlines()) == 1
        assert "more may show" in " ".join(answer.err.split())

    def test_an_empty_file_is_said_with_what_writes_one(self, assay: Any, mine: Path) -> None:
        (mine / "assay.yaml").write_text("# nothing yet\n")
        answer = assay("check", "--project", mine)
        assert answer.code == 2
        assert answer.err.endswith(
            "assay.yaml: holds nothing: ./assay new DIR writes one to begin with\n"
        )

    def test_a_file_of_a_package_that_no_lock_pins_is_said(self, assay: Any, mine: Path) -> None:
        inspected = (
            "value: 12 lines\n    evaluation: "
            "{kind: inspection, package: nvidia_cutlass, path: a.cu, quantity: lines}"
        )
        edit(
            mine,
            "assay.yaml",
            ("value: 640 TFLOP/s", inspected),
            ("    answer: {comparison: cublas_sizes, arm: n8192}\n", ""),
        )
        answer = assay("check", "--project", mine)
        assert answer.code == 1
        assert "pins no package 'nvidia_cutlass': did you mean 'nvidia-cutlass'?" in answer.out

    @pytest.mark.parametrize(
        ("stands", "put", "says"),
        [
            ("softmax.py:case", "softmax.case",
             "callable: a function is named with its file below the folder, as softmax.py:case"),
            ("    date:", "    file: post.html\n    sha256: abc\n    date:",
             "sha256: a SHA-256 digest has 64 digits, of 0-9 and a-f"),
            ("id: zeros_are_faster", "id: matmul_rate", "is given twice (see line 34)"),
            ("arm: n8192}", "arm: n8192, metric: time}",
             "unit TFLOP/s does not fit metric time, which is measured in ms or ns or s or us"),
            ("    answer: {measurement: softmax, arm: fused}\n", "",
             "a claim says what answers it: answer or evaluation, one of the two"),
            ("640 TFLOP/s", "600-640 TFLOP/s", "the upper one, as to: 600"),
            ("640 TFLOP/s", "600 to 640 TFLOP/s", "the upper one, as to: 600"),
            ("640 TFLOP/s", "~640 TFLOP/s", "add about: true"),
            ("640 TFLOP/s", "'>= 2x'", "a bound has relation: at_least"),
            ("answer: {comparison: cublas_sizes, arm: n8192}",
             "evaluation: {metric: rate, terms: []}", "evaluation: 'kind' is missing"),
            ("flops: 4 * rows * columns ", "flops: 4096 ", "flops: must be a text: put it into"),
            ("{comparison: cublas_sizes, arm: n8192}", "bench",
             "answer: must be a mapping"),
            ("2.0e-3", "-1", "relative_tolerance: must be greater than 0"),
        ],
    )  # fmt: skip
    def test_one_fault_is_one_sentence(self, assay, mine, stands, put, says):
        edit(mine, "assay.yaml", (stands, put))
        answer = assay("check", "--project", mine)
        assert answer.code == 2
        (line,) = answer.out.splitlines()
        assert line.startswith("assay.yaml, line ")
        assert says in line

    @pytest.mark.parametrize("leads", ["../assay.yaml", "own.yaml", "gone"])
    def test_a_project_file_that_is_a_link_is_refused(self, assay, mine, leads):
        """What it leads to would be signed as the project's."""
        file = mine / "assay.yaml"
        (mine / leads).write_bytes(file.read_bytes()) if leads != "gone" else None
        file.unlink()
        file.symlink_to(leads)
        for command in ("check", "reproduce", "claims"):
            answer = assay(command, "--project", mine)
            assert (answer.code, answer.out) == (2, "")
            says = f"{file}: it is a link, and only what lies in the project itself is its code"
            assert " ".join(answer.err.split()) == f"assay: {says}"


COMMAND = """
commands:
  - id: bench
    build: g++ bench.cpp -o bench
    run: ./bench data.csv
    directory: src
"""


def test_a_file_that_is_not_copied_is_said(assay: Any, mine: Path) -> None:
    """What a command's lines would not find where they are run."""
    (mine / "src").mkdir()
    for name in ("bench.cpp", "data.csv", "run.sh"):
        (mine / "src" / name).touch()
    edit(
        mine,
        "assay.yaml",
        ("{measurement: softmax, arm: fused}", "{command: bench, reads: 'x={value}'}"),
        ("\n# One entry a printed", f"{COMMAND}\n# One entry a printed"),
    )
    answer = assay("check", "--project", mine)
    line = line_of(mine, "- id: bench")
    for name in ("bench.cpp", "data.csv"):
        told = f"assay.yaml, line {line}: command 'bench': src/{name} is not copied to where it"
        assert told in answer.out, answer.out + answer.err
    edit(mine, "assay.yaml", ("directory: src", "directory: source"))
    answer = assay("check", "--project", mine)
    assert "directory: no file of the project lies in source" in answer.out


CUDA = """\
      ours:
        title: a kernel
        source: csrc/rows.cu
        symbol: softmax_rows
        operands: [x]
        sizes: [rows, columns]
        archs: [sm_90a]
"""
LAUNCHER = 'extern "C" int softmax_rows(const void* x, void* out, int rows, int columns) {}\n'


class TestCudaArms:
    """An arm from a CUDA file, which nothing compiles here."""

    @pytest.fixture
    def with_cuda(self, mine: Path) -> Path:
        (mine / "csrc").mkdir()
        (mine / "csrc" / "rows.cu").write_text(LAUNCHER)
        edit(
            mine,
            "assay.yaml",
            ("      steps: the same in four steps\n",
             "      steps: the same in four steps\n" + CUDA),
            ("{measurement: softmax, arm: fused}", "{measurement: softmax, arm: ours}"),
        )  # fmt: skip
        return mine

    @pytest.mark.parametrize(
        ("stands", "put", "says"),
        [
            ("sizes: [rows,", "sizes: [rowz,", "no parameter 'rowz'"),
            ("csrc/rows.cu", "csrc/row.cu", "there is no file 'csrc/row.cu'"),
            ("archs: [sm_90a]", "archs: [sm_90a]\n        flags: [-Xcompiler=-fplugin=x.so]",
             "-Xcompiler=-fplugin=x.so is not among those"),
            ("archs: [sm_90a]", "archs: [sm_90a]\n        flags: [-cubin]", "-cubin is not among"),
        ],
    )  # fmt: skip
    def test_what_is_refused_stands_with_its_line(self, assay, with_cuda, stands, put, says):
        edit(with_cuda, "assay.yaml", (stands, put))
        answer = assay("check", "--project", with_cuda)
        assert answer.code == 2
        assert says in answer.out
        line = line_of(with_cuda, put.splitlines()[-1].strip())
        assert f"line {line}: " in answer.out, (line, answer.out)


class TestFiguresThatCannotBeRight:
    """Impossible figures are a failed check, not bad input: nothing refuses to judge them."""

    LIES = (("640 TFLOP/s", "1,600 TFLOP/s"), ("2,500 GB/s", "5,000 GB/s"),
            ("claimed: {value: 20,", "claimed: {value: 30,"))  # fmt: skip

    def test_each_has_its_sentence_with_its_line(self, assay: Any, mine: Path) -> None:
        edit(mine, "assay.yaml", *self.LIES)
        answer = assay("check", "--project", mine)
        assert answer.code == 1
        assert len(answer.out.splitlines()) == 3
        for name, limit in (("matmul_rate", "989.4"), ("softmax_bandwidth", "3350")):
            line = line_of(mine, f"- id: {name}")
            assert f"assay.yaml, line {line}: claim '{name}': " in answer.out
            assert f"is beyond {limit} " in answer.out
        line = line_of(mine, "- id: gain_in_per_cent")
        assert f"assay.yaml, line {line}: audit 'gain_in_per_cent': " in answer.out
        assert "3 figures that cannot be right" in " ".join(answer.err.split())
        assert "nothing wrong" not in answer.out

    @pytest.mark.parametrize(
        ("stands", "put", "words"),
        [
            ("relative_tolerance: 2.0e-3", "relative_tolerance: 1", "1 lets zeros pass"),
            ("640 TFLOP/s", "640 TFLOP/s\n    resolution: 1000", "1000 is more than the figure"),
            ("{value: 1.2, resolution: 0.1,", "{value: 1.2, resolution: 9,", "9 is more than"),
        ],
    )
    def test_a_number_that_leaves_nothing_to_judge_is_a_problem(
        self, assay: Any, mine: Path, stands: str, put: str, words: str
    ) -> None:
        edit(mine, "assay.yaml", (stands, put))
        answer = assay("check", "--project", mine)
        assert answer.code == 1
        (line,) = [each for each in answer.out.splitlines() if words in each]
        assert re.match(r"assay\.yaml, line [1-9][0-9]: \w+ '\w+': ", line)

    def test_assays_own_sources_have_file_and_line(self, assay, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        answer = assay("check")
        assert answer.code == 1
        lines = answer.out.splitlines()
        assert lines
        for line in lines:
            file, number, of = re.match(r"(.+?), line (\d+): \w+ '(\w+)': ", line).groups()
            assert f"id: {of}" in Path(file).read_text().splitlines()[int(number) - 1]
        monkeypatch.chdir(ROOT)
        assert assay("check").out.startswith("config/claims/000.yaml, line ")

"""A library's warning, which every process of a measurement gives, is told once."""

import io
from pathlib import Path

import pytest

from assay.measuring.device_warnings import CodeLines, ToldWarnings
from assay.pipeline.workflow_process import WorkflowOutput

BETA = (
    "/opt/src/assay/device/kernels/bsr_rivals.py:40: UserWarning: Sparse BSR tensor support is in "
    "beta state. If you miss a functionality in the sparse tensor support, please submit a feature "
    "request to https://github.com/pytorch/pytorch/issues. (Triggered internally at a place.)"
)
SLOW = (
    "/opt/torch/sparse/_triton_ops.py:841: UserWarning: bsr_dense_addmm uses non-optimal triton "
    "kernel parameters for M={m} K=8192"
)
CODE = "  matrix = torch.sparse_bsr_tensor("
UNIT = "[1/6] bsr_gemm_128: 4 blocks, 2752 samples, 10.1 s"


def workflow_lines() -> str:
    """What a workflow says whose steps relay the lines of processes on two GPUs."""
    lines = []
    for process in range(3):
        for gpu in (0, 1):
            code = CodeLines()
            said = [BETA, CODE, SLOW.format(m=8192 + process), "  warn_once(", UNIT]
            lines += [f"assay:   {code.marked(line)} (GPU {gpu})" for line in said]
    return "".join(f"{line}\n" for line in ["assay: benchmark begins", *lines])


def told(log: Path, capsys: pytest.CaptureFixture[str], *, verbose: bool = False) -> list[str]:
    """The lines that a person sees of it."""
    log.parent.mkdir(exist_ok=True)
    WorkflowOutput(io.StringIO(workflow_lines()), log, verbose=verbose).close()
    return capsys.readouterr().err.splitlines()


def test_each_is_told_once_in_a_line_and_the_log_has_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "snakemake.log"
    first, *rest = told(log, capsys)
    assert first == "assay: benchmark begins"
    beta, slow = (line for line in rest if "UserWarning" in line)
    assert beta.startswith(
        "assay:   UserWarning, told once (all are in logs/snakemake.log): Sparse BSR tensor "
        "support is in beta state."
    )
    assert len(beta) < 220
    assert slow.endswith("kernel parameters for M=8192 K=8192")
    others = [line for line in rest if line not in (beta, slow)]
    assert others == [f"assay:   {UNIT} (GPU {gpu})" for _ in range(3) for gpu in (0, 1)]
    assert log.read_text() == workflow_lines()
    assert log.read_text().count("Sparse BSR tensor support") == 6


def test_who_asks_for_everything_is_told_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = told(tmp_path / "logs" / "all.log", capsys, verbose=True)
    assert seen == workflow_lines().splitlines()


def test_another_warning_is_told_too_and_what_is_none_is_left_as_it_is() -> None:
    warnings = ToldWarnings("a.log")
    assert warnings.told(BETA) is not None
    assert warnings.told(BETA.replace("UserWarning", "FutureWarning")) is not None
    assert warnings.told(BETA.replace(":40:", ":41:")) is None
    for line in ("  indented", "UserWarning of nothing", UNIT):
        assert warnings.told(line) == line
        assert warnings.told(line) == line


def test_a_line_of_code_is_one_only_below_a_warning() -> None:
    code = CodeLines()
    assert [code.marked(line) for line in (CODE, BETA, UNIT, CODE)] == [CODE, BETA, UNIT, CODE]
    assert code.marked(BETA) == BETA
    assert code.marked(CODE) == "warned at: matrix = torch.sparse_bsr_tensor("
    assert code.marked(CODE) == CODE

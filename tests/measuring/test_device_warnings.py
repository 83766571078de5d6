"""A library's warning, which every process of a measurement gives, is told once."""

from assay.measuring.device_warnings import ToldWarnings

BETA = f"/opt/assay/bsr_rivals.py:40: UserWarning: Sparse BSR is in beta state. {'x' * 200}"
SLOW = "/opt/torch/_triton_ops.py:841: UserWarning: non-optimal parameters for M={m} K=8192"
CODE = "  matrix = torch.sparse_bsr_tensor( (GPU 0)"
UNIT = "[1/6] bsr_gemm_128: 4 blocks, 2752 samples, 10.1 s (GPU 0)"


def test_each_is_told_once_in_a_line_whatever_its_numbers() -> None:
    warnings = ToldWarnings("logs/snakemake.log")
    told = [
        warnings.told(line)
        for process in range(3)
        for line in (f"{BETA} (GPU {process})", CODE, SLOW.format(m=8192 + process), CODE, UNIT)
    ]
    beta, slow, *others = [line for line in told if line is not None]
    assert "all are in logs/snakemake.log" in beta and "beta state" in beta and len(beta) < 220
    assert slow.endswith("parameters for M=8192 K=8192")
    assert others == [UNIT] * 3
    assert warnings.told(BETA.replace("UserWarning", "FutureWarning")) is not None

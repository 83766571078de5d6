"""What a run tells the person at the terminal, of all that its workflow says."""

from assay.pipeline.snakemake_run import run_process

SAID = """\
Building DAG of jobs...
assay: build.sm_90a.one: 2.4 s
1 of 12 steps (8%) done
assay: build.sm_90a.two: 2.5 s
assay:   [1/3] fused: correct, 54 checks, 2.5 s
"""


def test_a_step_is_told_with_how_many_had_ended(tmp_path, capsys):
    (tmp_path / "said").write_text(SAID)
    assert run_process(["cat", "said"], tmp_path, tmp_path / "run") == 0
    assert capsys.readouterr().err.splitlines() == [
        "assay: build.sm_90a.one: 2.4 s",
        "assay: build.sm_90a.two: 2.5 s (after 1 of 12 steps)",
        "assay:   [1/3] fused: correct, 54 checks, 2.5 s",
    ]
    assert (tmp_path / "run" / "logs" / "snakemake.log").read_text() == SAID

"""A report for people who compute: frames of what a trusted key signed, and of nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay import frames
from assay.base.errors import CheckFailed
from assay.findings.headline import FIGURES, counts_of, outcomes
from assay.judging.counts import counted_once
from assay.report.first_screen import headline_words
from assay.verification.report_archive import pack_report

ROOT = Path(__file__).resolve().parents[2]


def test_every_frame_has_its_columns(report: Path) -> None:
    opened = assay.open_report(report, [report / "signer.pub"])
    for name, columns in frames.TABLES.items():
        frame = getattr(opened, name)
        assert len(frame) > 0
        assert frame.columns.tolist() == [column.name for column in columns]
        assert [str(dtype) for dtype in frame.dtypes] == [column.dtype for column in columns]


def test_it_says_which_report_it_is(report: Path) -> None:
    opened = assay.open_report(str(report), [str(report / "signer.pub")])
    assert opened.run == "demo_run"
    assert opened.keyid in (report / "attestation.json").read_text()
    assert len(opened.manifest_sha256) == 64
    assert opened.created is not None and opened.created.endswith("Z")


def test_frames_tell_what_the_records_tell(report: Path) -> None:
    opened = assay.open_report(report, [report / "signer.pub"])
    benchmarks = opened.contents.evidence.benchmarks.values()
    launches = [
        time
        for record in benchmarks
        for process in record.processes
        for block in process.blocks
        for turn in block.turns
        for time in turn.times_ms
    ]
    assert opened.samples.time_ms.tolist() == launches
    verdicts = opened.contents.verdicts.verdicts
    assert opened.verdicts.claim.tolist() == [verdict.claim for verdict in verdicts]
    rate = opened.verdicts.set_index("claim").loc["demo_rate"]
    verdict = next(each for each in verdicts if each.claim == "demo_rate")
    assert (rate.ci_low, rate.ci_high) == verdict.ci90
    assert (rate.kind, rate.better) == ("published", 1)


def test_an_archive_is_the_same(report: Path, tmp_path: Path) -> None:
    archive = tmp_path / f"{report.name}.tar.xz"
    archive.write_bytes(pack_report(report))
    packed = assay.open_report(archive, [report / "signer.pub"])
    assert packed.verdicts.equals(assay.open_report(report, [report / "signer.pub"]).verdicts)


def test_what_no_trusted_key_signed_is_refused(report: Path) -> None:
    """The fixture's key is nobody's that this checkout trusts."""
    with pytest.raises(CheckFailed, match="which is not trusted") as refused:
        assay.open_report(report)
    assert refused.value.code == "signature-untrusted"


def test_a_measurement_counts_by_one_row(report: Path) -> None:
    opened = assay.open_report(report, [report / "signer.pub"])
    contents = opened.contents
    counted = counted_once(contents.catalog, contents.verdicts.verdicts)
    assert opened.verdicts.counts.sum() == len(counted)
    for each in counted:
        row = opened.verdicts.query("counts").set_index("claim").loc[each.lead.claim]
        assert (row.kind, row.outcome) == (each.kind, each.status.value)


def test_the_lines_of_the_documentation_draw_the_headlines_numbers(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "data.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    (tmp_path / "reports").symlink_to(ROOT / "reports")
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "svg", "HOME": str(tmp_path)},
        check=True,
    )
    picture = (tmp_path / "figures.svg").read_text()
    contents = assay.open_report(ROOT / "reports/published/hopper_20261130").contents
    figures = counts_of(outcomes(contents.catalog, contents.verdicts.verdicts))
    drawn = re.findall(r"<!-- (\d+) (\w+) -->", picture)
    assert {(int(number), outcome) for number, outcome in drawn} == {
        (number, status.value) for status, number in figures[FIGURES].statuses.items()
    }
    assert len(figures[FIGURES].statuses) > 3
    assert f"{figures[FIGURES].total} published speed figures: " in headline_words(figures)

"""``./assay export``: what is derived from a signed report."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import assay as package
from assay.frames import TABLES
from assay.verification.sign import sign

BIBTEX = ("--format", "bibtex")


class TestExport:
    """Tables for programs, each value as it was."""

    def test_csv_is_read_back_as_it_was(self, assay, report, key, tmp_path):
        answer = assay("export", report, *key, "--out", tmp_path)
        assert answer.code == 0
        frame = package.open_report(report, [key[1]]).samples
        again = pd.read_csv(tmp_path / "samples.csv")
        assert again.columns.tolist() == [column.name for column in TABLES["samples"]]
        assert again.time_ms.tolist() == frame.time_ms.tolist()
        assert f"samples.csv: {len(frame)} rows" in answer.out

    def test_json_is_a_list_of_objects_without_nan(self, assay, report, key, tmp_path):
        assert assay("export", report, *key, "--format", "json", "--out", tmp_path).code == 0
        text = (tmp_path / "verdicts.json").read_text()
        rows = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
        frame = package.open_report(report, [key[1]]).verdicts
        assert [row["claim"] for row in rows] == frame.claim.tolist()
        assert [row["measured"] for row in rows] == [
            None if pd.isna(value) else value for value in frame.measured
        ]

    @pytest.mark.parquet
    def test_parquet_is_read_back_as_it_was(self, assay, report, key, tmp_path):
        assert assay("export", report, *key, "--format", "parquet", "--out", tmp_path).code == 0
        opened = package.open_report(report, [key[1]])
        for name in TABLES:
            again = pd.read_parquet(tmp_path / f"{name}.parquet")
            assert again.columns.tolist() == getattr(opened, name).columns.tolist()
        assert pd.read_parquet(tmp_path / "samples.parquet").time_ms.equals(opened.samples.time_ms)

    @pytest.mark.parametrize("form", ["csv", "bibtex", "svg"])
    def test_what_nobody_vouches_for_is_a_failed_check(self, assay, report, tmp_path, form):
        answer = assay("export", report, "--format", form, "--out", tmp_path / "x")
        assert (answer.code, answer.out) == (1, "")
        assert "which is not trusted" in answer.err
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("there", [False, True])
    def test_an_interrupted_export_leaves_what_was_there(
        self, assay: Any, report: Path, key: Any, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch, there: bool,
    ) -> None:  # fmt: skip
        out = tmp_path / "out"
        if there:
            assert assay("export", report, *key, "--table", "builds", "--out", out).code == 0
        before = [(path.name, path.read_bytes()) for path in out.glob("*")]

        def stop(report: object) -> bytes:
            raise KeyboardInterrupt

        monkeypatch.setattr("assay.cli.commands.export.about", stop)
        assert assay("export", report, *key, "--out", out).code == 130
        assert [(path.name, path.read_bytes()) for path in out.glob("*")] == before
        assert out.exists() is there


def lie(report: Path, folder: Path, key: Path, **changes: object) -> Path:
    """A report in which every verdict says something else, signed by a key of its own."""
    forged = shutil.copytree(report, folder / "demo_run")
    file = json.loads((forged / "verdicts.json").read_text())
    for verdict in file["verdicts"]:
        on = verdict["measured_on"]
        if on and "product" in changes:
            on["product"] = changes["product"]
        verdict |= {name: told for name, told in changes.items() if verdict.get(name) is not None}
    (forged / "verdicts.json").write_text(json.dumps(file))
    sign(forged, key)
    return forged


EVIL = "\x1b]0;title\x07\u202e}, author = {{Nobody}}, x = {\n<script>"


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("form", ["csv", "json"])
def test_tables_steer_no_terminal_and_no_spreadsheet(assay, report, tmp_path, form):
    """What a trusted key signed is told as such: it steers nothing, and is not said to be true."""
    forged = lie(
        report, tmp_path, tmp_path / "k.pem", product=EVIL, reason="@SUM(1)",
        measured="=cmd|'/c calc'!A1", claimed="+1" + EVIL,
    )  # fmt: skip
    own = ("--key", tmp_path / "k.pem.pub", "--format", form, "--out", tmp_path / "out")
    assert assay("export", forged, *own).code == 0
    for path in (tmp_path / "out").iterdir():
        text = path.read_text()
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    if form == "json":
        rows = json.loads((tmp_path / "out" / "verdicts.json").read_text())
        assert EVIL in {row["gpu"] for row in rows}  # as it was
    else:
        with (tmp_path / "out" / "verdicts.csv").open(newline="") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        begun = {cell[0] for cell in cells if cell and not is_number(cell)}
        assert not begun & set("=+-@\t\r")
        assert any(cell.startswith("'=cmd|") for cell in cells)


def test_a_summary_of_outputs_alone_says_that_they_are(assay: Any) -> None:
    answer = assay("export", "reports/published/l4_on_h200_20261128.tar.xz", "--format", "markdown")
    assert "l4_on_h200: NVIDIA H200 running an L4's PTX (outputs only," in answer.out


def test_the_entry_names_the_bytes(assay: Any, report: Path, key: Any) -> None:
    """Both name the report, and are the same every time."""
    answer = assay("export", report, *BIBTEX, *key)
    opened = package.open_report(report, [key[1]])
    assert answer.code == 0
    assert answer.out.startswith(f"@misc{{assay_demo_run_{opened.manifest_sha256[:8]},\n")
    assert opened.manifest_sha256 in answer.out and opened.keyid in answer.out
    assert r"run demo\_run" in answer.out
    assert answer.out.count("{") - answer.out.count(r"\{") == answer.out.count("}")
    assert answer.out == assay("export", report, *BIBTEX, *key).out

"""``./assay compare`` and ``./assay verify``: what reads report directories."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.cli import rebuilding
from assay.cli.commands import verify
from tests.report.told import told_report
from tests.report_fixtures import (
    signed_report,
    write_repository,
)


class TestCompareAndVerify:
    """Both read report directories."""

    @pytest.fixture(scope="class")
    @staticmethod
    def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
        return signed_report(write_repository(tmp_path_factory.mktemp("cli") / "repo"))

    def test_verdicts_stand_side_by_side(self, assay: Any, report: Path) -> None:
        answer = assay("compare", report, report, "--key", report / "signer.pub")
        assert answer.code == 0
        assert answer.out.count(report.name) == 2
        assert "demo_rate" in answer.out
        assert "unverified" not in answer.out + answer.err
        assert answer.err.count("as trusted key ") == 2

    def test_a_copy_under_another_runs_name_is_called_what_was_signed(
        self, assay: Any, report: Path, tmp_path: Path
    ) -> None:
        copy = shutil.copytree(report, tmp_path / "newest_run")
        answer = assay("compare", report, copy, "--key", report / "signer.pub")
        assert answer.out.splitlines()[0].endswith("demo_run\tnewest_run (run demo_run)")
        answer = assay("verify", copy, "--key", report / "signer.pub", "--accept-policy")
        assert answer.code == 0
        assert "which is the report of run 'demo_run'" in answer.out.splitlines()[-1]

    def test_what_no_trusted_key_signed_is_called_unverified_on_every_line(
        self, assay: Any, report: Path, tmp_path: Path
    ) -> None:
        changed = tmp_path / "changed"
        shutil.copytree(report, changed)
        (changed / "verdicts.json").write_text((report / "verdicts.json").read_text() + " ")
        answer = assay("compare", report, changed, "--key", report / "signer.pub")
        assert answer.code == 0
        lines = answer.out.splitlines()[1:]
        assert lines
        for line in lines:
            _, _, ours, theirs = line.split("\t")
            assert not ours.startswith("unverified")
            assert theirs.startswith("unverified, ")
        assert "changed: unverified: contents: verdicts.json " in answer.err
        answer = assay("compare", report, report)
        assert all(line.count("unverified, ") == 2 for line in answer.out.splitlines()[1:])
        assert "which is not trusted" in answer.err

    def test_a_cell_says_why_what_holds_and_what_it_would_be_there(
        self, assay: Any, report: Path, tmp_path: Path
    ) -> None:
        """A report of the first schema, which has none of it, stands beside."""
        old = tmp_path / "old"
        old.mkdir()
        file = json.loads((report / "verdicts.json").read_text())
        file["schema"] = "assay/verdicts/1"
        del file["rules"]
        for verdict in file["verdicts"]:
            del verdict["why"], verdict["as_if"], verdict["readings"]
        (old / "verdicts.json").write_text(json.dumps(file))
        told = told_report(tmp_path / "repo")
        answer = assay("compare", old, told)
        assert answer.code == 0
        rows = {
            (claim, target): (before, after)
            for claim, target, before, after in (
                line.split("\t") for line in answer.out.splitlines()[1:]
            )
        }
        before, after = rows["demo_rate", "h100"]
        assert before.startswith("unverified, reproduced: ")
        assert after.startswith("unverified, misstated: ")
        assert after.endswith(", holds under 1 of 3 readings (other_work)")
        assert rows["demo_there", "h100"][0] == "unverified, absent"
        assert rows["demo_there", "h100"][1].startswith(
            "unverified, elsewhere (there: not_reproduced): "
        )

    def test_a_report_verifies_check_by_check(self, assay: Any, report: Path) -> None:
        rules = ("--policy", report.parents[1])
        answer = assay("verify", report, "--key", report / "signer.pub", *rules)
        assert answer.code == 0
        lines = answer.out.splitlines()
        assert lines[0].startswith("ok   signature: signed by")
        assert lines[-1] == f"verified: {report}"

    def test_a_changed_report_is_a_failed_check(
        self, assay: Any, report: Path, tmp_path: Path
    ) -> None:
        key = tmp_path / "signer.pub"
        key.write_bytes((report / "signer.pub").read_bytes())
        text = report / "report.md"
        before = text.read_bytes()
        text.write_bytes(before + b"!")
        try:
            answer = assay("verify", report, "--key", key)
        finally:
            text.write_bytes(before)
        assert answer.code == 1
        assert "report.md" in answer.err

    def test_a_build_that_there_is_none_of_is_named_before_anything_is_done(
        self, assay: Any, report: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def begun(*_: object, **__: object) -> None:
            raise AssertionError("the report was verified, or a compiler fetched")

        monkeypatch.setattr(rebuilding, "ensure_toolchain", begun)
        monkeypatch.setattr(rebuilding, "compiler_place", begun)
        monkeypatch.setattr(verify, "verify_report", begun)
        key = ("--key", report / "signer.pub")
        answer = assay("verify", report, *key, "--rebuild", "--only", "sm_90a/demo_bk3")
        assert answer.code == 2
        assert "the evidence holds no build 'sm_90a/demo_bk3' (close to it: " in answer.err
        assert "sm_90a/demo_bk32" in answer.err

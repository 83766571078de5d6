"""``./assay verify``: each check as it is made, and the exit code."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from assay.cli.commands import verify
from assay.verification.guarantees import TIMES
from tests.report_fixtures import (
    signed_report,
    write_repository,
)


class TestVerify:
    """It reads a report directory."""

    @pytest.fixture(scope="class")
    @staticmethod
    def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
        return signed_report(write_repository(tmp_path_factory.mktemp("cli") / "repo"))

    def test_a_report_verifies_check_by_check(self, assay: Any, report: Path) -> None:
        rules = ("--policy", report.parents[1])
        answer = assay("verify", report, "--key", report / "signer.pub", *rules)
        assert answer.code == 0
        lines = answer.out.splitlines()
        assert lines[0].startswith("ok   signature: signed by")
        passed, last = lines[-2:]
        assert re.fullmatch(rf"PASSED: {report}, signed by .{{1,40}} \([0-9a-f]{{12}}\)", passed)
        assert last.startswith(TIMES)

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

    def test_ones_own_report_has_a_line_that_verifies_it(
        self, assay: Any, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is trusted no more than before: whoever types the line trusts the key."""
        own = tmp_path / "my keys" / "key.pem.pub"
        own.parent.mkdir()
        own.write_bytes((report / "signer.pub").read_bytes())
        monkeypatch.setattr(verify, "default_signing_key", lambda: own.with_suffix(""))
        answer = assay("verify", report)
        assert answer.code == 1
        (line,) = [line for line in answer.out.splitlines() if "--key" in line]
        program, *words = shlex.split(line)
        assert program == "./assay"
        assert words == ["verify", str(report), "--key", str(own)]
        assert "ok   signature: signed by" in assay(*words).out

    def test_a_build_that_there_is_none_of_is_named_before_anything_is_done(
        self, assay: Any, report: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def begun(*_: object, **__: object) -> None:
            raise AssertionError("the report was verified, or a compiler fetched")

        monkeypatch.setattr("assay.cli.compiler_place.compiler_place", begun)
        monkeypatch.setattr(verify, "verify_report", begun)
        key = ("--key", report / "signer.pub")
        answer = assay("verify", report, *key, "--rebuild", "--only", "sm_90a/demo_bk3")
        assert answer.code == 2
        assert "the evidence holds no build 'sm_90a/demo_bk3' (close to it: " in answer.err
        assert "sm_90a/demo_bk32" in answer.err

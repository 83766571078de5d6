"""The output of verify: lines as they come, six guarantees, and JSON alone on standard output."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.cli.commands.verify import STATE_WIDTH
from assay.records.attestation import TEXTS
from assay.records.verification import VerificationRecord
from assay.verification.guarantees import TIMES
from assay.verification.sign import sign
from tests.report_fixtures import COMMIT

ROOT = Path(__file__).resolve().parents[3]
NAMES = ["intact", "complete", "judged again", "pages", "gate first", "same binaries"]


@pytest.fixture
def own_rules(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report was made in the checkout that verifies it."""
    monkeypatch.setattr("assay.cli.checkout.ROOT", report.parents[1])


@pytest.fixture
def changed(report: Path, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(report, tmp_path / "demo_run"))
    (copy / "report.md").write_text("another text")
    return copy


def guaranteed(out: str) -> dict[str, str]:
    """The state of each guarantee, in the order in which they stand."""
    found = {}
    for line in out.splitlines():
        name = line[STATE_WIDTH:].partition(":")[0]
        if name in NAMES:
            found[name] = line[:STATE_WIDTH].strip()
    return found


class TestText:
    """Checks, the six guarantees, the last lines."""

    @pytest.mark.usefixtures("own_rules")
    def test_six_guarantees_stand_behind_the_checks(self, assay: Any, report: Path) -> None:
        answer = assay("verify", report, "--key", report / "signer.pub")
        *checks, passed, last = answer.out.splitlines()
        assert answer.code == 0
        states = guaranteed(answer.out)
        assert list(states) == NAMES
        assert states["same binaries"] == "not checked"
        assert {states[name] for name in NAMES[:5]} <= {"proven", "unproven"}
        assert states["pages"] == "proven"
        assert any(line.startswith("ok   texts: ") for line in checks[:-6])
        assert passed.startswith(f"PASSED: {report}, signed by ")
        assert len(passed) < len(f"PASSED: {report}") + 70
        assert last.startswith(TIMES)

    def test_a_folder_that_was_never_a_report_is_no_forgery(self, assay, changed, tmp_path):
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs/README.md").touch()
        answer = assay("verify", tmp_path / "docs")
        assert (answer.code, answer.out) == (2, "")
        assert "docs: is not a report" in answer.err
        (changed / "attestation.json").unlink()
        assert assay("verify", changed).code == 1

    def test_they_are_shown_where_a_check_fails(self, assay: Any, changed: Path) -> None:
        answer = assay("verify", changed, "--key", changed / "signer.pub")
        assert answer.code == 1
        assert "fail contents: report.md has " in answer.out
        states = guaranteed(answer.out)
        assert states.pop("intact") == "failed"
        assert set(states.values()) == {"not checked"}
        assert answer.err == "", "the check has said it"
        assert answer.out.splitlines()[-1].startswith(
            f"FAILED: {changed}: contents: report.md has "
        )

    @pytest.mark.usefixtures("own_rules")
    def test_ones_own_key_is_called_so(self, assay, report, tmp_path, monkeypatch) -> None:
        own = tmp_path / "mine.pem.pub"
        shutil.copy(report / "signer.pub", own)
        monkeypatch.setenv("ASSAY_SIGNING_KEY", str(own.with_suffix("")))
        refused = assay("verify", report, "--key", next(ROOT.glob("config/trusted_keys/*.pub")))
        assert refused.code == 1
        assert f"--key {own}" in refused.out.splitlines()[-1]
        assert "your own key" in assay("verify", report, "--key", own).out

    def test_the_last_line_names_the_claim_whose_verdict_is_another(self, assay, report, tmp_path):
        forged = shutil.copytree(report, tmp_path / "repo" / "demo_run")
        file = json.loads((forged / "verdicts.json").read_text())
        figure = next(each for each in file["verdicts"] if each["claim"] == "demo_rate")
        figure["measured"] *= 2
        text = json.dumps(file, indent=2, sort_keys=True, ensure_ascii=False)
        (forged / "verdicts.json").write_text(f"{text}\n")
        sign(forged, tmp_path / "key.pem")
        answer = assay("verify", forged, "--key", tmp_path / "key.pem.pub", "--accept-policy")
        assert answer.code == 1
        last = answer.out.splitlines()[-1]
        assert last.startswith(f"FAILED: {forged}: ")
        assert "demo_rate on h100" in last

    @pytest.mark.usefixtures("own_rules")
    def test_pages_of_another_version_end_in_the_commit_to_check_out(
        self, assay: Any, report: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def other(*_: object) -> dict[str, str]:
            return dict.fromkeys(TEXTS, "another text")

        monkeypatch.setattr("assay.report.render.render_contents", other)
        answer = assay("verify", report, "--key", report / "signer.pub")
        assert answer.code == 1
        last = answer.out.splitlines()[-1]
        assert last.startswith(f"NOT VERIFIED: {report}: intact, ")
        assert COMMIT in last
        assert "PASSED" not in answer.out


class TestJson:
    """A document of assay/verification/2, whatever verifying comes to."""

    @pytest.mark.usefixtures("own_rules")
    def test_nothing_else_is_on_standard_output(self, assay: Any, report: Path) -> None:
        answer = assay("verify", report, "--key", report / "signer.pub", "--json")
        assert answer.code == 0
        found = VerificationRecord.model_validate_json(answer.out)
        assert found.verified
        assert [each.id for each in found.guarantees] == NAMES
        assert answer.err.startswith("ok   signature: "), "checks as they come"

    def test_a_failed_check_has_its_code(self, assay: Any, changed: Path) -> None:
        answer = assay("verify", changed, "--key", changed / "signer.pub", "--json")
        found = VerificationRecord.model_validate_json(answer.out)
        assert answer.code == found.exit_code == 1
        assert found.code == "contents"
        failed = [(each.id, each.code) for each in found.checks if each.state == "failed"]
        assert failed == [("contents", "contents")]
        assert answer.err.endswith(f"assay: {found.error}\n")


@pytest.mark.usefixtures("own_rules")
def test_a_build_that_there_is_none_of_is_named_before_a_compiler_is_fetched(
    assay: Any, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(*_: object, **__: object) -> None:
        raise AssertionError("a compiler was fetched")

    monkeypatch.setattr("assay.images.stage.compiler_place", lambda *_: None)
    monkeypatch.setattr("assay.building.toolchain.ensure_toolchain", begun)
    key = ("--key", report / "signer.pub")
    build = ("--rebuild", "--runtime", "host", "--only", "sm_90a/demo_bk3")
    answer = assay("verify", report, *key, *build)
    assert answer.code == 2
    assert "no build 'sm_90a/demo_bk3'" in answer.out + answer.err, answer

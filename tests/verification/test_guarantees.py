"""The result of verifying: each check stands in one guarantee, which is as good as its worst."""

from pathlib import Path

import pytest

from assay.base.check_log import failed_check, passed_check
from assay.base.errors import AssayError, CheckFailed
from assay.base.io import dump_record, parse_record
from assay.records.verification import ProofState, VerificationRecord
from assay.verification.guarantees import GUARANTEES, verification_record
from assay.verification.sign import public_key_path
from assay.verification.signed_files import CHECKS
from assay.verification.verify import EVIDENCE_CHECKS, VerificationLog, verify
from tests.report_fixtures import COMMIT

PROVEN, UNPROVEN, FAILED, NOT_CHECKED = ProofState


def states(result: VerificationRecord) -> dict[str, ProofState]:
    return {each.id: each.state for each in result.guarantees}


def verified(report: Path) -> tuple[VerificationLog, AssayError | None]:
    log, error = VerificationLog(), None
    try:
        verify(report, [public_key_path(report.parents[2] / "key")], log=log)
    except AssayError as failure:
        error = failure
    return log, error


def test_every_check_stands_in_one_guarantee_and_is_documented() -> None:
    """Else a failed one could leave all six proven."""
    names = [name for each in GUARANTEES for name in each.checks]
    of_some = {"name", "provenance", "policy", "texts", "sources", "rebuild"}
    asked = {*CHECKS, *EVIDENCE_CHECKS, *of_some}
    assert sorted(names) == sorted(asked)
    text = (Path(__file__).resolve().parents[2] / "docs" / "verifying.md").read_text()
    assert {name for name in names if f"`{name}`" not in text} == set()


def test_a_sound_report_says_what_was_proven_of_it(report: Path) -> None:
    result = verification_record("x", *verified(report))
    assert (result.verified, result.exit_code, result.code, result.error) == (True, 0, None, None)
    assert (result.run, result.commit) == ("demo_run", COMMIT)
    assert [signer.name for signer in result.signers] == ["key"]
    found = states(result)
    assert {found[name] for name in ("intact", "gate first")} == {PROVEN}
    assert result.guarantees[0].says == GUARANTEES[0].says, "nothing is left open"
    assert {found[name] for name in ("pages", "same binaries")} == {NOT_CHECKED}, "not asked"
    assert parse_record(VerificationRecord, dump_record(result), Path("x")) == result


def test_a_guarantee_is_as_good_as_its_worst_check(report: Path) -> None:
    log, _ = verified(report)
    log.add(passed_check("sources", "all are here", ["what no source tells"]))
    assert states(verification_record("x", log))["same binaries"] is UNPROVEN
    log.add(failed_check("rebuild", "demo for sm_90a: differs"))
    found = states(verification_record("x", log, CheckFailed("other bytes", code="rebuild")))
    assert (found["gate first"], found["same binaries"]) == (PROVEN, FAILED)


@pytest.mark.parametrize(
    ("name", "code"),
    [("attestation.json", "envelope-form"), ("report.md", "contents")],
)
def test_what_rests_on_a_failed_check_was_not_checked(report: Path, name: str, code: str) -> None:
    before = (report / name).read_bytes()
    (report / name).write_bytes(before + b"\n")
    try:
        result = verification_record("x", *verified(report))
    finally:
        (report / name).write_bytes(before)
    assert (result.verified, result.exit_code, result.code) == (False, 1, code)
    found = states(result)
    assert found.pop("intact") is FAILED
    assert set(found.values()) == {NOT_CHECKED}


def test_a_copy_is_called_by_its_readers_name(tmp_path: Path) -> None:
    log = VerificationLog(called=(tmp_path / "copy", Path("there.tar.xz")))
    log.add(failed_check("contents", f"{tmp_path}/copy/report.md has other bytes"))
    assert log.checks[0].says == "there.tar.xz/report.md has other bytes"

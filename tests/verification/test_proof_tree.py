"""The tree of what was proven: each check stands in one part, which is as good as its worst."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.base.check_log import failed_check, passed_check
from assay.base.errors import AssayError, BadInput, CheckFailed
from assay.base.io import dump_record, parse_record
from assay.records.manifest import TEXTS
from assay.records.verification import ProofNode, ProofState, VerificationRecord
from assay.verification.proof_tree import check_names, verification_record
from assay.verification.rendered_again import Renderer
from assay.verification.sign import public_key_path
from assay.verification.signed_files import CHECKS
from assay.verification.verify import EVIDENCE_CHECKS, VerificationLog, verify
from tests.report_fixtures import COMMIT, signed_report, write_repository

CHAIN = ["key", "statement", "manifest", "records", "verdicts", "pages"]
PROVEN, UNPROVEN, FAILED, NOT_CHECKED = ProofState


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_report(write_repository(tmp_path_factory.mktemp("tree") / "repo"))


def walk(node: ProofNode) -> Iterator[ProofNode]:
    yield node
    for child in node.children:
        yield from walk(child)


def states(result: VerificationRecord) -> dict[str, ProofState]:
    return {node.id: node.state for node in walk(result.proof)}


def result_of(report: Path, key: Path | None = None, **options: object) -> VerificationRecord:
    log, error = VerificationLog(), None
    keys = [key or public_key_path(report.parents[2] / "key")]
    try:
        verify(report, keys, log=log, **options)  # type: ignore[arg-type]
    except AssayError as failure:
        error = failure
    return verification_record(str(report), log, error)


def test_every_check_stands_in_one_part_of_the_tree() -> None:
    assert len(set(check_names())) == len(check_names())
    asked = {*CHECKS, *EVIDENCE_CHECKS, "name", "policy", "texts"}
    asked |= {"sources", "rebuild"}
    assert set(check_names()) == asked


def test_every_check_and_part_is_documented() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "verifying.md").read_text()
    assert {name for name in (*check_names(), *CHAIN) if f"`{name}`" not in text} == set()


def test_each_part_rests_on_the_one_before_it(report: Path) -> None:
    node, chain = result_of(report).proof, []
    while True:
        chain.append(node.id)
        if not node.children:
            break
        node = node.children[0]
    assert chain == CHAIN


def test_a_sound_report_says_what_was_proven_of_it(report: Path) -> None:
    result = result_of(report)
    assert (result.verified, result.exit_code, result.code, result.error) == (True, 0, None, None)
    assert (result.run, result.commit) == ("demo_run", COMMIT)
    assert [signer.name for signer in result.signers] == ["key"]
    found = states(result)
    assert {found[name] for name in ("key", "statement", "manifest", "verdicts")} == {PROVEN}
    assert {found[name] for name in ("pages", "sources", "binaries")} == {NOT_CHECKED}, "not asked"


def test_what_a_check_leaves_makes_its_part_unproven(report: Path) -> None:
    log = VerificationLog()
    verify(report, [public_key_path(report.parents[2] / "key")], log=log)
    log.checks = [dataclasses.replace(check, unproven=(), state=PROVEN) for check in log.checks]
    assert states(verification_record("x", log))["records"] is PROVEN
    log.checks[-3] = passed_check("measured", "sums are those", ["what no sum tells"])
    result = verification_record("x", log)
    (records,) = [node for node in walk(result.proof) if node.id == "records"]
    assert records.state is UNPROVEN
    assert "measured" in records.says
    assert result.verified


def test_pages_of_another_version_are_not_checked(report: Path) -> None:
    def other(*_: object) -> dict[str, str]:
        return dict.fromkeys(TEXTS, "another text")

    result = result_of(report, renderer=Renderer(other, "f" * 40, True))
    assert states(result)["pages"] is NOT_CHECKED
    assert states(result)["verdicts"] is PROVEN
    assert (result.verified, result.code) == (False, "other-version")


@pytest.mark.parametrize(
    ("name", "part", "code"),
    [
        ("attestation.json", "key", "envelope-form"),
        ("manifest.json", "statement", "statement-subject"),
        ("report.md", "manifest", "contents"),
    ],
)
def test_what_rests_on_a_failed_part_was_not_checked(
    report: Path, name: str, part: str, code: str
) -> None:
    before = (report / name).read_bytes()
    (report / name).write_bytes(before + b"\n")
    try:
        result = result_of(report)
    finally:
        (report / name).write_bytes(before)
    assert (result.verified, result.exit_code, result.code) == (False, 1, code)
    found = states(result)
    at = CHAIN.index(part)
    assert [found[each] for each in CHAIN[:at]] == [PROVEN] * at
    assert found[part] is FAILED
    assert {found[each] for each in CHAIN[at + 1 :]} == {NOT_CHECKED}
    (node,) = [node for node in walk(result.proof) if node.id == part]
    assert code in {check.code for check in node.checks}


def test_what_cannot_even_begin_is_a_result_too(report: Path) -> None:
    result = verification_record("x", VerificationLog(), BadInput("x: no such report directory"))
    assert (result.exit_code, result.code) == (2, "bad-input")
    assert set(states(result).values()) == {NOT_CHECKED}


def test_a_failed_rebuild_leaves_the_rest_proven(report: Path) -> None:
    log = VerificationLog()
    verify(report, [public_key_path(report.parents[2] / "key")], log=log)
    log.add(passed_check("sources", "all are here"))
    log.add(failed_check("rebuild", "demo for sm_90a: differs"))
    found = states(verification_record("x", log, CheckFailed("other bytes", code="rebuild")))
    assert (found["verdicts"], found["sources"], found["binaries"]) == (PROVEN, PROVEN, FAILED)


def test_the_document_is_read_back_as_it_was_written(report: Path) -> None:
    result = result_of(report, key=report / "signer.pub")
    data = dump_record(result)
    assert parse_record(VerificationRecord, data, Path("result.json")) == result
    assert json.loads(data)["schema"] == "assay/verification/1"


def test_each_check_is_told_before_the_next_is_made(report: Path) -> None:
    told: list[tuple[str, int]] = []
    log = VerificationLog()
    log.tell = lambda check: told.append((check.name, len(log.checks)))
    verify(report, [report / "signer.pub"], log=log)
    assert told == [(check.name, n) for n, check in enumerate(log.checks, 1)]


def test_a_copy_is_called_by_its_readers_name(report: Path, tmp_path: Path) -> None:
    log = VerificationLog(called=(tmp_path / "copy", Path("there.tar.xz")))
    log.add(failed_check("contents", f"{tmp_path}/copy/report.md has other bytes"))
    assert log.checks[0].detail == "there.tar.xz/report.md has other bytes"

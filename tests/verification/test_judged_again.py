"""A report of other judging rules: its own commit's code judges it, or nothing calls it judged."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.catalog.load import load_catalog
from assay.judging.rules import RULES
from assay.pipeline.reuse import find_recorded
from assay.records.verification import ProofState
from assay.report.render import render_contents
from assay.verification import judged_again, own_rules
from assay.verification.own_rules import NotJudgedAgain
from assay.verification.proof_tree import verification_record
from assay.verification.rendered_again import Renderer
from assay.verification.sign import public_key_path
from assay.verification.verify import VerificationLog, VerificationResult, verify
from tests.report_fixtures import COMMIT, signed_report, write_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


@pytest.fixture
def report(root: Path) -> Path:
    return signed_report(root)


@pytest.fixture(autouse=True)
def newer(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of today that no report was judged by yet; nothing may judge by them."""

    def judge(*_: object) -> None:
        raise AssertionError("judged by today's rules")

    monkeypatch.setattr(judged_again, "RULES", 99)
    monkeypatch.setattr(judged_again, "judge", judge)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What the report's own code was asked; it finds verdicts and texts to hold."""
    return own_code(monkeypatch, {"verdicts": "6 verdicts, the same", "texts": "both the same"})


def own_code(
    monkeypatch: pytest.MonkeyPatch, says: dict[str, str] | Exception
) -> list[tuple[object, ...]]:
    calls: list[tuple[object, ...]] = []

    def passed(*arguments: object) -> dict[str, str]:
        calls.append(arguments)
        if isinstance(says, Exception):
            raise says
        return says

    monkeypatch.setattr(own_rules, "passed_by_commit", passed)
    return calls


def check(report: Path, root: Path, *, texts: bool = False) -> VerificationResult:
    renderer = Renderer(partial(render_contents, root), COMMIT, True) if texts else None
    return verify(report, keys(root), repository=root, renderer=renderer)


def keys(root: Path) -> Sequence[Path]:
    return [public_key_path(root.parent / "key")]


def test_its_own_code_is_asked_and_the_rules_are_named(
    report: Path, root: Path, asked: list[tuple[object, ...]]
) -> None:
    result = check(report, root)
    assert asked == [(report, COMMIT, (*keys(root),), root)]
    assert [entry.name for entry in result.checks] == [
        "signature", "statement", "shape", "contents",
        "evidence", "declared", "origins", "complete", "machine", "gate", "problems",
        "binaries", "measured", "provenance", "verdicts",
    ]  # fmt: skip
    assert result.checks[-1].detail == (
        f"judged again by rules {RULES}, by the code of commit {COMMIT}, for this checkout "
        "judges by rules 99: 6 verdicts, the same"
    )


def test_texts_that_it_renders_again_are_a_check(
    report: Path, root: Path, asked: list[tuple[object, ...]]
) -> None:
    assert check(report, root, texts=True).checks[-1].detail == (
        "by the same commit: both the same"
    )


def test_texts_that_it_renders_otherwise_leave_them_unproven(
    report: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the report's Python was another: no check says that they hold."""
    own_code(monkeypatch, {"verdicts": "6 verdicts, the same"})
    result = check(report, root, texts=True)
    assert (result.checks[-1].name, result.checks[-1].is_open) == ("texts", True)
    assert "vouched for by the signature alone" in result.unproven[-1]


def test_what_it_finds_wrong_is_a_failed_check(
    report: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_code(monkeypatch, CheckFailed("commit 0123 finds: verdicts: other ones"))
    with pytest.raises(CheckFailed, match=r"\n  verdicts: commit 0123 finds: verdicts: other ones"):
        check(report, root, texts=True)


def test_it_is_not_started_for_a_report_that_was_tampered_with(
    report: Path, root: Path, asked: list[tuple[object, ...]]
) -> None:
    (report / "report.md").write_text("another text")
    with pytest.raises(CheckFailed, match=r"contents: report\.md has "):
        check(report, root)
    assert asked == []


class TestWhereItCannotBeRun:
    """Exit code 3: what holds, what nobody checked, and how to get it."""

    @pytest.fixture(autouse=True)
    def lacking(self, monkeypatch: pytest.MonkeyPatch) -> None:
        own_code(monkeypatch, MissingEnvironment("this clone is shallow: git fetch --unshallow"))

    def test_verify_says_what_holds_and_what_nobody_judged(self, report: Path, root: Path) -> None:
        with pytest.raises(NotJudgedAgain) as raised:
            check(report, root)
        assert raised.value.exit_code == 3
        assert str(raised.value) == (
            f"{report}: its verdicts are those of rules {RULES}, this checkout judges by rules 99, "
            "and nothing judged them again: this clone is shallow: git fetch --unshallow (checked, "
            "and it holds: signature, statement, shape, contents, evidence, declared, origins, "
            "complete, machine, gate, problems, binaries, measured, provenance; not "
            "checked: verdicts, texts)"
        )

    def test_the_tree_says_that_verdicts_and_pages_were_not_checked(
        self, report: Path, root: Path
    ) -> None:
        log = VerificationLog()
        with pytest.raises(NotJudgedAgain) as raised:
            verify(report, keys(root), repository=root, log=log)
        result = verification_record("it", log, raised.value)
        assert (result.exit_code, result.code, result.verified) == (3, "machine-lacks", False)
        assert result.run == "demo_run"
        (verdicts,) = result.proof.children[0].children[0].children[0].children[:1]
        assert (verdicts.id, verdicts.state) == ("verdicts", ProofState.NOT_CHECKED)
        assert "git fetch --unshallow" in verdicts.says
        assert verdicts.children[0].state is ProofState.NOT_CHECKED

    def test_without_a_checkout_there_is_no_history(self, report: Path, root: Path) -> None:
        with pytest.raises(NotJudgedAgain, match="there is no checkout whose history"):
            verify(report, keys(root))

    def test_records_are_taken_over_all_the_same_and_a_line_says_so(
        self, report: Path, root: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What is taken are records, which are signed; their verdicts are made anew."""
        (root / "requirements").mkdir()
        (root / "requirements" / "toolchain.txt").write_text("nvcc\n")
        found = find_recorded(root, load_catalog(root), ["h100"], [report], keys(root))
        assert found["h100"][0].kind == "recorded"
        said = capsys.readouterr().err
        assert "nothing judged them again: this clone is shallow" in said
        assert "its records are judged here, by rules" in said

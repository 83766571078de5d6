"""A report's rules are the verifier's, as its own history vouches for them."""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record, write_record
from assay.evidence.stages import pipeline_path
from assay.judging.rules import RULES
from assay.records.attestation import PipelineRecord
from assay.verification.policy import Policy, differences
from assay.verification.sign import public_key_path
from assay.verification.verify import VerificationLog, VerificationResult, verify
from tests.git_history import git
from tests.report_fixtures import signed_report, write_repository, write_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a history of one commit."""
    root = write_repository(tmp_path / "repo")
    git(root, "init", "-q")
    commit(root)
    return root


def commit(root: Path) -> str:
    git(root, "add", "config", "kernels")
    git(root, "commit", "-q", "-m", "rules")
    return git(root, "rev-parse", "HEAD")


def change(root: Path, name: str, old: str, new: str) -> None:
    path = root / "config" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def signed_by(root: Path, made_by: str) -> Path:
    run = write_run(root)
    record = read_record(PipelineRecord, run / pipeline_path())
    write_record(record.model_copy(update={"commit": made_by}), run / pipeline_path())
    return signed_report(root)


def check(report: Path, root: Path, **policy: object) -> VerificationResult:
    rules = Policy(**{"checkout": root, **policy})  # type: ignore[arg-type]
    return verify(report, [public_key_path(root.parent / "key")], policy=rules)


def test_the_rules_of_its_commit(root: Path) -> None:
    result = check(signed_by(root, git(root, "rev-parse", "HEAD")), root)
    assert "policy" in [entry.name for entry in result.checks]


def test_an_earlier_commit_is_held_to_its_own_rules(root: Path) -> None:
    report = signed_by(root, git(root, "rev-parse", "HEAD"))
    change(root, "judging.yaml", "absolute_margin: 0.08", "absolute_margin: 0.03")
    commit(root)
    assert check(report, root).passed


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("judging.yaml", "absolute_margin: 0.08", "absolute_margin: 0.5"),
        ("claims/demo.yaml", "value: 200", "value: 190"),
    ],
)
def test_other_rules_are_refused_by_name_and_value(
    root: Path, name: str, old: str, new: str
) -> None:
    head = git(root, "rev-parse", "HEAD")
    change(root, name, old, new)
    report = signed_by(root, head)
    with pytest.raises(CheckFailed, match=rf"{name}: .* is [\d.]+, not [\d.]+") as raised:
        check(report, root)
    assert raised.value.code == "policy"
    result = check(report, root, accepted=True)
    assert result.passed
    (accepted,) = [entry for entry in result.checks if entry.name == "policy"]
    assert accepted.detail.startswith("accepted: judged by other rules")
    assert "that margins, " in accepted.unproven[0]
    assert check(report, root, folder=root).passed


def test_what_other_rules_ask_for_is_not_judged(root: Path) -> None:
    """Ten times the resamples take ten times as long, whoever chose them."""
    head = git(root, "rev-parse", "HEAD")
    change(root, "judging.yaml", "bootstrap_resamples: 200", "bootstrap_resamples: 20000")
    report, log = signed_by(root, head), VerificationLog()
    with pytest.raises(CheckFailed):
        verify(report, [public_key_path(root.parent / "key")], policy=Policy(root), log=log)
    states = {entry.name: entry.code for entry in log.checks if not entry.passed}
    assert states == {"policy": "policy", "verdicts": "not-checked"}


@pytest.mark.parametrize(
    ("given", "own", "says"),
    [
        ("x: [{id: b}, {id: a}]", "x: [{id: a}, {id: b}]", "x in its order is b, a, not a, b"),
        ("x: nothing", "y: 1", "x is nothing, not absent"),
        ("x: []", "x: {}", "x is [], not {}"),
        (
            f"x: {'long ' * 30}one",
            f"x: {'long ' * 30}two",
            "x is ...long long long long long long one, not ...long long long long long long two",
        ),
    ],
)
def test_no_difference_hides(given: str, own: str, says: str) -> None:
    assert says in "; ".join(differences({"a": given.encode()}, {"a": own.encode()}))


def test_every_difference_is_listed(root: Path) -> None:
    """The one that matters may be the last."""
    head = git(root, "rev-parse", "HEAD")
    claims = root / "config" / "claims" / "demo.yaml"
    text = claims.read_text()
    for member in ("statement: ", "section: "):
        text = text.replace(member, f"{member}Not ")
    claims.write_text(text)
    change(root, "workloads/demo.yaml", "seed: ", "seed: 1")
    report = signed_by(root, head)
    with pytest.raises(CheckFailed) as raised:
        check(report, root)
    assert str(raised.value).count("Not ") > 8
    assert "config/workloads/demo.yaml: " in str(raised.value)


def test_other_words_for_the_same_are_no_difference() -> None:
    assert list(differences({"a": b"x: 1 # one\n"}, {"a": b"x: 1\n"})) == []
    assert list(differences({"a": b"x: 1\n"}, {})) == ["a is no file of theirs"]


def _judging_by(root: Path, rules: int | None) -> str:
    """Commit code that judges by such rules, or that has no number of them yet."""
    code = root / "src" / "assay"
    (code / "judging").mkdir(parents=True)
    (code / "__init__.py").write_text("")
    if rules is not None:
        (code / "judging" / "rules.py").write_text(f'"""Rules."""\n\nRULES = {rules}\n')
    git(root, "add", "src")
    return commit(root)


def test_the_commits_code_judges_by_the_rules_that_the_report_says(root: Path) -> None:
    assert check(signed_by(root, _judging_by(root, RULES)), root).passed


@pytest.mark.parametrize("rules", [RULES - 1, None])
def test_a_commit_of_other_rules_did_not_judge_it(root: Path, rules: int | None) -> None:
    report = signed_by(root, _judging_by(root, rules))
    with pytest.raises(CheckFailed) as refused:
        check(report, root)
    assert refused.value.code == "rules"

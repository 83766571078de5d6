"""A report's configuration is that of the verifier's own checkout."""

import shutil
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.verification.policy import Policy, differences
from assay.verification.verify import VerificationLog, verify
from tests.report_fixtures import signed_report, write_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


@pytest.fixture
def own(root: Path) -> Path:
    """The verifier's checkout, as it was before the signer changed a word."""
    folder = root.parent / "own"
    for name in ("config", "kernels"):
        shutil.copytree(root / name, folder / name)
    return folder


def change(root: Path, name: str, old: str, new: str) -> None:
    path = root / "config" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def check(report: Path, folder: Path, *, accepted: bool = False) -> VerificationLog:
    return verify(report, [report.parents[2] / "key.pub"], policy=Policy(folder, accepted))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("judging.yaml", "absolute_margin: 0.08", "absolute_margin: 0.5"),
        ("claims/demo.yaml", "value: 200", "value: 190"),
    ],
)
def test_other_rules_are_refused_by_name_and_value(
    root: Path, own: Path, name: str, old: str, new: str
) -> None:
    change(root, name, old, new)
    report = signed_report(root)
    with pytest.raises(CheckFailed, match=rf"{name}: .* is [\d.]+, not [\d.]+") as raised:
        check(report, own)
    assert raised.value.code == "policy"
    result = check(report, own, accepted=True)
    assert result.holds
    (accepted,) = [entry for entry in result.checks if entry.name == "policy"]
    assert accepted.detail.startswith("accepted: judged by other rules")
    assert "that margins, " in accepted.unproven[0]
    assert check(report, root).holds


def test_what_other_rules_ask_for_is_not_judged(root: Path, own: Path) -> None:
    """Ten times the resamples take ten times as long, whoever chose them."""
    change(root, "judging.yaml", "bootstrap_resamples: 200", "bootstrap_resamples: 20000")
    report, log = signed_report(root), VerificationLog()
    with pytest.raises(CheckFailed):
        verify(report, [root.parent / "key.pub"], policy=Policy(own), log=log)
    states = {entry.name: entry.code for entry in log.checks if not entry.passed}
    assert states == {"policy": "policy", "verdicts": "not-checked"}


@pytest.mark.parametrize(
    ("given", "own", "says"),
    [
        ("x: [{id: b}, {id: a}]", "x: [{id: a}, {id: b}]", "its entries have another order"),
        ("x: nothing", "y: 1", "x is 'nothing', not absent"),
        ("x: []", "x: {}", "x is [], not {}"),
    ],
)
def test_no_difference_hides(given: str, own: str, says: str) -> None:
    assert says in "; ".join(differences({"a": given.encode()}, {"a": own.encode()}))


def test_other_words_for_the_same_are_no_difference() -> None:
    assert list(differences({"a": b"x: 1 # one\n"}, {"a": b"x: 1\n"})) == []
    assert list(differences({"a": b"x: 1\n"}, {})) == ["a is no file of theirs"]

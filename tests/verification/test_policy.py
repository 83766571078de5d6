"""A report's configuration is that of the verifier's own checkout."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from assay.base.errors import CheckFailed
from assay.verification.policy import Policy
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
def test_other_rules_are_refused_by_file(
    root: Path, own: Path, name: str, old: str, new: str
) -> None:
    change(root, name, old, new)
    report = signed_report(root)
    with pytest.raises(CheckFailed, match=f"{name} says other things") as raised:
        check(report, own)
    assert raised.value.code == "policy"
    result = check(report, own, accepted=True)
    assert result.holds
    (accepted,) = [entry for entry in result.checks if entry.name == "policy"]
    assert accepted.detail.startswith("accepted: judged by other rules")
    assert "that margins, " in accepted.unproven[0]
    assert check(report, root).holds


def test_other_words_for_the_same_are_no_difference(root: Path, own: Path) -> None:
    """A file that only one of them has is one."""
    report = signed_report(root)
    judging = own / "config" / "judging.yaml"
    judging.write_text(f"# one\n{judging.read_text()}")
    assert check(report, own).holds
    (own / "config" / "more.yaml").write_text("x: 1\n")
    with pytest.raises(CheckFailed, match=r"more\.yaml is not among the evidence"):
        check(report, own)


def test_gpus_sources_and_kernels_that_came_later_are_no_difference(root: Path, own: Path) -> None:
    """What the report knows of kernels must be unchanged."""
    report = signed_report(root)
    for folder in ("targets", "claims", "comparisons", "trusted_keys"):
        (own / "config" / folder).mkdir(exist_ok=True)
        (own / "config" / folder / "later.yaml").write_text("id: later\n")
    kernels = next(own.glob("kernels/*/kernel.yaml"))
    known = yaml.safe_load(kernels.read_text())
    later = {**known["variants"][0], "id": "later"}
    kernels.write_text(json.dumps({**known, "variants": [later, *known["variants"]]}))
    assert check(report, own).holds
    changed = {**known["variants"][0], "title": "another"}
    kernels.write_text(json.dumps({**known, "variants": [changed, *known["variants"][1:]]}))
    with pytest.raises(CheckFailed, match=r"kernel\.yaml says other things"):
        check(report, own)

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


def check(report: Path, folder: Path, *, accepted: bool = False) -> VerificationLog:
    return verify(report, [report.parents[2] / "key.pub"], policy=Policy(folder, accepted))


def test_other_words_for_the_same_are_no_difference(root: Path, own: Path) -> None:
    report = signed_report(root)
    judging = own / "config" / "judging.yaml"
    judging.write_text(f"# one\n{judging.read_text()}")
    assert check(report, own).holds
    judging.write_text(judging.read_text().replace("ratio_margin: ", "ratio_margin: 0.1 # "))
    with pytest.raises(CheckFailed, match=r"judging\.yaml says other things"):
        check(report, own)


def test_kernels_that_the_report_does_not_time_may_change(root: Path, own: Path) -> None:
    for folder, title in ((root, "as it was"), (own, "as it is now")):
        kernels = next(folder.glob("kernels/*/kernel.yaml"))
        known = yaml.safe_load(kernels.read_text())
        spare = {**known["variants"][0], "id": "spare", "title": title}
        kernels.write_text(json.dumps({**known, "variants": [*known["variants"], spare]}))
    assert check(signed_report(root), own).holds


def test_gpus_sources_and_kernels_that_came_later_are_no_difference(root: Path, own: Path) -> None:
    """What the report knows of kernels must be unchanged."""
    report = signed_report(root)
    for name in ("targets/h100", "claims/demo"):
        text = (own / "config" / f"{name}.yaml").read_text()
        later = own / "config" / Path(name).parent / "later.yaml"
        later.write_text(text.replace("id: h100", "id: later").replace("demo", "later"))
    kernels = next(own.glob("kernels/*/kernel.yaml"))
    known = yaml.safe_load(kernels.read_text())
    later = {**known["variants"][0], "id": "later"}
    kernels.write_text(json.dumps({**known, "variants": [later, *known["variants"]]}))
    assert check(report, own).holds
    changed = {**known["variants"][0], "title": "another"}
    kernels.write_text(json.dumps({**known, "variants": [changed, *known["variants"][1:]]}))
    with pytest.raises(CheckFailed, match=r"variant '\w+' says other things"):
        check(report, own)

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


def test_other_words_and_what_came_later_are_no_difference(tmp_path: Path) -> None:
    """Nor is another text of what no comparison of the report runs; of what it times it is one."""
    root, own = write_repository(tmp_path / "repo"), tmp_path / "own"
    kernels = next(root.glob("kernels/*/kernel.yaml"))
    known = yaml.safe_load(kernels.read_text())
    timed, *others = known["variants"]
    spare = {**timed, "id": "spare", "title": "as it was"}
    kernels.write_text(json.dumps({**known, "variants": [timed, *others, spare]}))
    for name in ("config", "kernels"):
        shutil.copytree(root / name, own / name)
    report = signed_report(root)

    def verified(*variants: object) -> VerificationLog:
        text = json.dumps({**known, "variants": variants})
        (own / kernels.relative_to(root)).write_text(text)
        return verify(report, [tmp_path / "key.pub"], policy=Policy(own))

    judging = own / "config" / "judging.yaml"
    judging.write_text(f"# one\n{judging.read_text()}")
    for name in ("targets/h100", "claims/demo"):
        text = (own / "config" / f"{name}.yaml").read_text()
        later = own / "config" / Path(name).parent / "later.yaml"
        later.write_text(text.replace("id: h100", "id: later").replace("demo", "later"))
    now = {**spare, "title": "as it is now"}
    assert verified({**timed, "id": "later"}, timed, *others, now).holds
    with pytest.raises(CheckFailed, match=r"variant '\w+' says other things"):
        verified({**timed, "title": "another"}, *others, spare)

"""docs/your-own-claims.md, followed to the letter: from nothing to a signed report of one's own.

The commands of its ``console`` blocks are run as they are typed, but that the folder ``/tmp/mine``
is one of this test and the key lies in a home of its own.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.records.verdicts import Status, VerdictsFile

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "your-own-claims.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.S | re.M)
TYPED = "/tmp/mine"


@dataclass(frozen=True)
class Followed:
    """What came of following the page."""

    folder: Path
    said: str
    checkout_before: frozenset[str]
    checkout_after: frozenset[str]
    seconds: float

    def verdicts(self) -> dict[str, Status]:
        found = read_record(VerdictsFile, self.folder / "reports" / "local" / "verdicts.json")
        return {v.claim: v.status for v in found.verdicts if v.target in ("h100", None)}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    base = tmp_path_factory.mktemp("own")
    folder, home = base / "mine", base / "home"
    home.mkdir()
    before, began = _checkout(), time.monotonic()
    said = ""
    for block in BLOCK.finditer(PAGE):
        wanted: list[str] = []
        answered = ""
        for line in block["text"].splitlines():
            if not line.startswith("$ "):
                wanted.append(line.replace(TYPED, str(folder)))
                continue
            words = line.removeprefix("$ ").replace(TYPED, str(folder)).replace("~", str(home))
            answered += _run(shlex.split(words), home)
        for line in wanted:
            assert line in answered, answered
        said += answered
    return Followed(folder, said, before, _checkout(), time.monotonic() - began)


def _run(words: list[str], home: Path) -> str:
    command = [sys.executable, "-m", "assay.cli", *words[1:]] if words[0] == "./assay" else words
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "COV_", "PYTEST"))}
    if words[:2] == ["./assay", "reproduce"]:
        # What this machine has to compile in decides nothing here.
        command += ["--runtime", "host", "--cores", "1"]
    if words[:2] == ["./assay", "verify"]:
        command += ["--accept-policy"]  # of a tree under work
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900,
        env={**kept, "HOME": str(home), "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def _checkout() -> frozenset[str]:
    """What lies where a run of Assay's own sources would."""
    folders = (ROOT / "reports", ROOT / "results", ROOT / "config")
    return frozenset(str(path) for folder in folders for path in folder.glob("*"))


def test_the_page_ends_in_a_report_that_verifies(followed: Followed) -> None:
    assert (followed.folder / "reports" / "local" / "attestation.json").is_file()
    assert "its claims are its signer's own: project " in followed.said


def test_it_is_done_in_less_than_ten_minutes(followed: Followed) -> None:
    """Reading and typing included, of which the page is made for three."""
    assert followed.seconds < 420


def test_claims_are_judged_by_recorded_measurements(followed: Followed) -> None:
    found = followed.verdicts()
    measured = {Status.REPRODUCED, Status.EXCEEDED, Status.NOT_REPRODUCED, Status.INCONCLUSIVE}
    assert found["matmul_rate"] in measured
    assert found["zeros_are_faster"] in measured
    assert found["gain_in_per_cent"] is Status.CONSISTENT
    assert found["softmax_ratio"] is found["softmax_bandwidth"] is Status.NOT_RUN


def test_the_evidence_carries_the_project_and_no_claims_of_ours(followed: Followed) -> None:
    evidence = followed.folder / "reports" / "local" / "evidence"
    for name in ("assay.yaml", "softmax.py"):
        assert (evidence / "project" / name).read_bytes() == (followed.folder / name).read_bytes()
    assert not (evidence / "config" / "claims").exists()


def test_nothing_of_it_lands_in_the_checkout(followed: Followed) -> None:
    new = followed.checkout_after - followed.checkout_before
    assert {Path(path).name for path in new} <= {"cache"}


def test_there_are_three_files_to_read(followed: Followed) -> None:
    written = {path.name for path in followed.folder.iterdir()}
    assert written == {"assay.yaml", "softmax.py", ".gitignore", "results", "reports",
                       "trusted_keys"}  # fmt: skip

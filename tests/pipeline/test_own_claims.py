"""docs/your-own-claims.md, followed to the letter: from nothing to a signed report of one's own.

The commands of its ``console`` blocks are run as they are typed, but that the folder ``/tmp/mine``
is one of this test and the key lies in a home of its own.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from assay.base.io import read_record
from assay.records.verdicts import Status, VerdictsFile

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "your-own-claims.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.S | re.M)
TYPED = "/tmp/mine"


def follow(folder: Path, home: Path) -> str:
    """Type every command of the page, and find what it shows; return all that was said."""
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
    return said


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


def test_the_page_ends_in_a_report_that_verifies(tmp_path: Path) -> None:
    folder, home = tmp_path / "mine", tmp_path / "home"
    home.mkdir()
    before = _checkout()
    said = follow(folder, home)
    assert {Path(path).name for path in _checkout() - before} <= {"cache"}
    assert "its claims are its signer's own: project " in said
    report = folder / "reports" / "local"
    assert (report / "attestation.json").is_file()
    for name in ("assay.yaml", "softmax.py"):
        kept = report / "evidence" / "project" / name
        assert kept.read_bytes() == (folder / name).read_bytes()
    assert not (report / "evidence" / "config" / "claims").exists()
    assert {path.name for path in folder.iterdir()} == {
        "assay.yaml", "softmax.py", ".gitignore", "results", "reports", "trusted_keys",
    }  # fmt: skip

    verdicts = read_record(VerdictsFile, report / "verdicts.json").verdicts
    found = {v.claim: v.status for v in verdicts if v.target in ("h100", None)}
    measured = {Status.REPRODUCED, Status.EXCEEDED, Status.NOT_REPRODUCED, Status.INCONCLUSIVE}
    assert {found["matmul_rate"], found["zeros_are_faster"]} <= measured
    assert found["gain_in_per_cent"] is Status.CONSISTENT
    assert found["softmax_ratio"] is found["softmax_bandwidth"] is Status.NOT_RUN

"""docs/your-own-claims.md and docs/ci.md, followed to the letter: from nothing to a signed report
of one's own, and to what a CI does with it.
"""

from pathlib import Path

from assay.base.io import read_record
from assay.records.verdicts import Status, VerdictsFile
from tests.console_blocks import ROOT, follow


def _checkout() -> frozenset[str]:
    """What lies where a run of Assay's own sources would."""
    folders = (ROOT / "reports", ROOT / "results", ROOT / "config")
    return frozenset(str(path) for folder in folders for path in folder.glob("*"))


def test_the_pages_end_in_a_report_that_verifies(tmp_path: Path) -> None:
    folder, home = tmp_path / "mine", tmp_path / "home"
    home.mkdir()
    before = _checkout()
    places = {"/tmp/mine": str(folder)}
    said = follow("your-own-claims", home, places)
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

    follow("ci", home, places)
    assert "<svg" in (folder / "results" / "badge.svg").read_text()

"""A report of a project that measured its own code: judged, signed, verified."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.records.attestation import VERDICTS
from assay.records.verdicts import VerdictsFile
from assay.verification.guarantees import verification_record
from assay.verification.policy import Policy
from assay.verification.sign import sign
from assay.verification.verify import VerificationLog, verify
from tests.catalog.test_project import CODE, claim
from tests.catalog.test_project import document as small_document
from tests.report_fixtures import signed_report, write_repository


def document() -> dict[str, Any]:
    def ours(name: str, value: str, **more: Any) -> dict[str, Any]:
        return claim(name, value, answer={"measurement": "rows", "arm": "ours"}, **more)

    content = small_document()
    content["measurements"][0] |= {
        "parameters": {"rows": 16777216},
        "dtype": "float32",
        "bytes": "8 * rows",
        "protocol": "standard",
    }
    content["claims"] = [
        ours("ratio", "1.5x"),
        ours("bandwidth", "2,500 GB/s"),
        ours("rate", "1 TFLOP/s", flops="2 * rows"),
    ]
    return {**content, "title": "Rows"}


@pytest.fixture
def report(tmp_path: Path) -> tuple[Path, Path]:
    """The report of a run that measured the project's code, and the signer's public key."""
    root = write_repository(tmp_path / "repo")
    (root / "project").mkdir()
    (root / "project" / "assay.yaml").write_text(yaml.safe_dump(document()))
    (root / "project" / "rows.py").write_text(CODE)
    key = tmp_path / "key"
    return signed_report(root, key=key), Path(f"{key}.pub")


def verified(report: Path, key: Path, **more: Any) -> VerificationLog:
    log = VerificationLog()
    verify(report, [key], log=log, **more)
    return log


def test_its_figures_are_judged_by_its_own_formulas(report: tuple[Path, Path]) -> None:
    folder, key = report
    verified(folder, key)
    found = {v.claim: v for v in read_record(VerdictsFile, folder / VERDICTS).verdicts}
    assert found.keys() == {"ratio", "bandwidth", "rate"}
    assert all(isinstance(verdict.measured, float) for verdict in found.values()), found
    bandwidth, rate = found["bandwidth"].measured, found["rate"].measured
    assert rate == pytest.approx(bandwidth / 8 * 2 / 1e3, rel=1e-3)
    assert "rows=16777216" in (found["rate"].ran or "")


def test_code_signed_anew_is_another_project(report: tuple[Path, Path]) -> None:
    folder, key = report
    before = verification_record("r", verified(folder, key)).project
    path = folder / "evidence" / "project" / "rows.py"
    path.write_text(CODE + "# edited\n")
    sign(folder, key.with_suffix(""))
    assert verification_record("r", verified(folder, key)).project != before


def test_its_margins_are_compared_and_its_claims_are_not(report, tmp_path):
    folder, key = report
    ours = tmp_path / "repo"
    verified(folder, key, policy=Policy(ours))
    judging = ours / "config" / "judging.yaml"
    judging.write_text(judging.read_text().replace("ratio_margin: 0.05", "ratio_margin: 0.15"))
    with pytest.raises(CheckFailed, match=r"judging\.yaml"):
        verified(folder, key, policy=Policy(ours))

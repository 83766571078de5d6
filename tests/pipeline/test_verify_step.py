"""The workflow's last step verifies as a reader would, by the rules of the checkout."""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record, write_record
from assay.cli import checkout
from assay.cli.commands.reproduce import _verify_command
from assay.evidence.stages import pipeline_path
from assay.pipeline.steps import Steps
from assay.records.attestation import PipelineRecord
from assay.records.plan import Request
from assay.report.render import render
from assay.verification.sign import sign
from tests.report_fixtures import write_repository, write_run

MARGIN = ("absolute_margin: 0.08", "absolute_margin: 0.5")

REPORT = Path("reports/demo_run")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


def verified(root: Path, commit: str, clean: bool, run: Path | None = None) -> tuple[str, Request]:
    """What the step wrote of a run that says to be of this state of the tree."""
    run = run or write_run(root)
    state = {"commit": commit, "clean_tree": clean}
    record = read_record(PipelineRecord, run / pipeline_path())
    write_record(record.model_copy(update=state), run / pipeline_path())
    request = read_record(Request, run / "request.json")
    request = request.model_copy(update={**state, "signing_key": str(root.parent / "key")})
    write_record(request, run / "request.json")
    render(root, run, root / "reports" / "demo_run")
    sign(root / "reports" / "demo_run", root.parent / "key")
    Steps(root, "results/demo_run").verify()
    return (run / "verified.txt").read_text(), request


def test_a_tree_that_changed_under_way_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is of the tree as it began; its reader has what is there now."""
    run = write_run(root)
    path = root / "config" / "judging.yaml"
    path.write_text(path.read_text().replace(*MARGIN))
    with pytest.raises(CheckFailed) as raised:
        verified(root, "b" * 40, True, run)
    assert raised.value.code == "policy"
    text, request = verified(root, "b" * 40, False, run)
    assert "ok  policy: accepted" in text
    monkeypatch.setattr(checkout, "ROOT", root)
    typed = _verify_command(root / REPORT, request)
    assert typed[-1] == "--accept-policy", "what is printed can be typed"
    path.write_text(path.read_text().replace(*reversed(MARGIN)))
    (root / "notes.txt").touch()
    assert "--accept-policy" not in _verify_command(root / REPORT, request)

"""What other signed reports measured becomes a record of a run, before its report is signed."""

import json
import shutil
from pathlib import Path

import pytest

from assay.base.io import read_record, write_record
from assay.evidence.load import load_evidence
from assay.evidence.stages import other_runs_path, platform_path
from assay.pipeline.other_runs import write_other_runs
from assay.records.platform import PlatformRecord
from assay.records.report_figures import OtherRunsRecord
from assay.report.render import render
from assay.shared.files import sha256_bytes
from tests.report_fixtures import signed_report, write_repository, write_run, write_verdicts


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that publishes the signed report of another run."""
    root = write_repository(tmp_path / "repo")
    made = signed_report(root, "earlier_run")
    published = root / "reports" / "published" / "earlier_run"
    published.parent.mkdir(parents=True)
    shutil.move(made, published)
    keys = root / "config" / "trusted_keys"
    keys.mkdir(parents=True, exist_ok=True)
    shutil.copy(published / "signer.pub", keys / "ours.pub")
    return root


def new_run(root: Path, recorded_at: str) -> Path:
    """A run of the same cards at another time."""
    run_dir = write_run(root, "newer_run")
    path = run_dir / platform_path("h100")
    platform = read_record(PlatformRecord, path)
    write_record(platform.model_copy(update={"recorded_at": recorded_at}), path)
    write_verdicts(root, run_dir)
    return run_dir


def test_another_run_is_kept_with_its_manifest(repository: Path) -> None:
    run_dir = new_run(repository, "2026-12-01T00:00:00+00:00")
    write_other_runs(repository, run_dir)
    (run,) = read_record(OtherRunsRecord, run_dir / other_runs_path()).runs
    manifest = repository / "reports" / "published" / "earlier_run" / "manifest.json"
    assert (run.report, run.manifest_sha256) == (
        "earlier_run", sha256_bytes(manifest.read_bytes()),
    )  # fmt: skip
    assert "demo_rate" in {figure.claim for figure in run.figures}


def test_it_is_evidence_that_the_report_carries_and_tells_of(repository: Path) -> None:
    run_dir = new_run(repository, "2026-12-01T00:00:00+00:00")
    write_other_runs(repository, run_dir)
    out = repository / "reports" / "newer_run"
    templates = Path(__file__).resolve().parents[2] / "reports" / "templates"
    shutil.copytree(templates, repository / "reports" / "templates", dirs_exist_ok=True)
    render(repository, run_dir, out)
    kept = out / "evidence" / other_runs_path()
    assert kept.read_bytes() == (run_dir / other_runs_path()).read_bytes()
    assert load_evidence(out / "evidence").other_runs is not None
    page = (out / "report.html").read_text()
    assert "Across cards and runs" in page
    assert "2 runs on 1 card" in page
    assert "(earlier_run)" in (out / "appendix.html").read_text()


def test_the_same_measurement_is_no_other_run(repository: Path) -> None:
    run_dir = write_run(repository, "newer_run")
    write_other_runs(repository, run_dir)
    assert not (run_dir / other_runs_path()).exists()


def test_what_no_trusted_key_signed_is_left_out_and_said(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = new_run(repository, "2026-12-01T00:00:00+00:00")
    path = repository / "reports" / "published" / "earlier_run" / "verdicts.json"
    file = json.loads(path.read_text())
    path.write_text(json.dumps(file))
    write_other_runs(repository, run_dir)
    assert not (run_dir / other_runs_path()).exists()
    assert "earlier_run is left out of the spread between runs" in capsys.readouterr().err

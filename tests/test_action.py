"""``action.yml``: its steps do in a shell what they do on a runner."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import report_fixtures
from tests.report_fixtures import signed_report, write_repository

ROOT = Path(__file__).resolve().parents[1]
ACTION: Any = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


class Job:
    """A runner with the action's steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary = folder / "the summary"
        words = ["exec", "env", f"PYTHONPATH={ROOT / 'src'}", sys.executable, "-m", "assay.cli"]
        (folder / "assay").write_text(f'#!/bin/sh\n{shlex.join(words)} "$@"\n')
        (folder / "assay").chmod(0o755)

    def run(self, **inputs: object) -> tuple[str | None, str]:
        known = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
        given = {name.replace("_", "-"): str(value) for name, value in inputs.items()}
        assert given.keys() <= known.keys()
        names = {f"inputs.{name}": value for name, value in {**known, **given}.items()}
        names["github.action_path"] = str(self.folder)
        said = ""
        for step in ACTION["runs"]["steps"]:
            assert (step["shell"], step.keys() & {"if", "uses"}) == ("bash", set())
            own = dict(step["env"])
            for name, value in names.items():
                own = {k: v.replace(f"${{{{ {name} }}}}", value) for k, v in own.items()}
            assert "${{" not in f"{own} {step['run']}"
            words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            environment = {**os.environ, **own, "GITHUB_STEP_SUMMARY": str(self.summary)}
            ended = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True,
                                   text=True, check=False, timeout=600)  # fmt: skip
            said += ended.stdout + ended.stderr
            if ended.returncode:
                return step["name"], said
        return None, said


@pytest.fixture
def job(tmp_path: Path) -> Job:
    folder = tmp_path / "a runner"
    folder.mkdir()
    return Job(folder)


def test_a_published_report_is_verified_and_shown(job: Job) -> None:
    report = ROOT / "reports" / "published" / "h100_20261124_own.tar.xz"
    failed, said = job.run(report=report)
    assert failed is None, said
    assert "| reproduced | " in job.summary.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs by one key: in the second every launch takes half as long again."""
    folder = tmp_path_factory.mktemp("two runs")
    earlier = signed_report(write_repository(folder / "one"), "first_run", folder / "key")
    fast = report_fixtures.launch_ms
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_fixtures, "launch_ms",
                      lambda of: {arm: 1.5 * ms for arm, ms in fast(of).items()})  # fmt: skip
        return earlier, signed_report(write_repository(folder / "two"), "next_run", folder / "key")


@pytest.mark.parametrize("slower", [True, False])
def test_a_figure_that_got_worse_fails_and_one_that_got_better_does_not(job, reports, slower):
    earlier, report = reports if slower else reports[::-1]
    given = {"key": report / "signer.pub", "accept_policy": "true"}
    failed, said = job.run(report=report, earlier=earlier, **given)
    assert f"## {report.name}" in job.summary.read_text(encoding="utf-8")
    assert (failed == "Look for regressions") is slower, said
    assert ("regression: demo_rate on h100: " in said) is slower


def test_a_changed_report_fails_first(job: Job, reports: tuple[Path, Path]) -> None:
    key = reports[0] / "signer.pub"
    page = reports[0] / "report.md"
    text = page.read_text(encoding="utf-8")
    try:
        page.write_text("another text", encoding="utf-8")
        failed, _ = job.run(report=reports[0], key=key, accept_policy="true")
    finally:
        page.write_text(text, encoding="utf-8")
    assert failed == "Verify the report"
    assert not job.summary.exists()

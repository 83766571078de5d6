"""The published evidence, the README made from it, and the exported schemas."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tools.project_results import archives
from tools.readme_table import newest_tables, replaced

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.stages import pipeline_path
from assay.judging import RULES
from assay.records.attestation import VERDICTS, PipelineRecord
from assay.records.verdicts import VerdictsFile
from assay.report.render import render_contents
from assay.verification.made_again import OtherVersion, Renderer
from assay.verification.policy import Policy
from assay.verification.report_archive import is_archive, opened_report, pack_report, report_name
from assay.verification.trust import published_reports
from assay.verification.trusted_keys import trusted_keys
from assay.verification.verify import VerificationLog, verify

ROOT = Path(__file__).resolve().parents[2]
REPORTS = published_reports(ROOT)
ARCHIVES = archives(ROOT)
"""Of this repository's projects."""


def test_the_newest_passes_with_its_pages_by_this_version_and_its_configuration() -> None:
    renderer = Renderer(partial(render_contents, ROOT), None, None)
    keys, policy = trusted_keys(ROOT), Policy(ROOT)
    result = verify(REPORTS[0], keys, repository=ROOT, renderer=renderer, policy=policy)
    assert result.holds
    assert result.checks[-1].id == "texts"


def test_the_newest_lies_as_a_directory_and_each_older_one_as_an_archive() -> None:
    assert [is_archive(path) for path in REPORTS] == [False] + [True] * (len(REPORTS) - 1)
    kept = {path.name for path in (ROOT / "reports" / "published").iterdir()}
    assert kept == {path.name for path in REPORTS}
    assert len(set(map(report_name, REPORTS))) == len(REPORTS)


@pytest.mark.parametrize("path", [*REPORTS, *ARCHIVES], ids=report_name)
def test_each_is_intact_and_verified_where_its_rules_are_todays(path: Path) -> None:
    """In seconds of the processor, which no other process takes away. One of a project is of it as
    it stands; one of earlier rules, as it stood then.
    """
    before, log = _cpu_s(), VerificationLog()
    with opened_report(path) as report:
        verdicts = read_record(VerdictsFile, report / VERDICTS)
        commit = read_record(PipelineRecord, report / "evidence" / pipeline_path()).commit
        if verdicts.rules == RULES:
            keys, policy = trusted_keys(ROOT), Policy(ROOT)
            assert verify(report, keys, repository=ROOT, policy=policy, log=log).holds
            assert log.checks[-1].id == "verdicts"
            if path in ARCHIVES:
                signed = load_catalog(report / "evidence").project
                ours = load_catalog(ROOT, path.parents[2]).project
                assert signed and ours and signed.sha256 == ours.sha256
        else:
            with pytest.raises(OtherVersion) as raised:
                verify(report, trusted_keys(ROOT), repository=ROOT, log=log)
            assert (raised.value.rules, raised.value.commit) == (verdicts.rules, commit)
    passed = {check.id for check in log.checks if check.passed}
    assert {"signature", "contents", "evidence", "declared"} <= passed
    assert not log.failed
    assert commit is not None
    assert _cpu_s() - before < 10


def test_an_archive_is_what_packing_gives_again() -> None:
    archives = sorted(filter(is_archive, REPORTS), key=lambda path: path.stat().st_size)
    with opened_report(archives[0]) as report:
        assert pack_report(report) == archives[0].read_bytes()


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system


def test_the_readmes_results_are_those_of_the_newest_published_report() -> None:
    readme = (ROOT / "README.md").read_text()
    assert replaced(readme, newest_tables(ROOT)) == readme


def test_the_schema_of_a_project_is_its_model(tmp_path: Path) -> None:
    """By a process of its own: only there are the fields' descriptions asked for in time."""
    subprocess.run([sys.executable, "-m", "tools.json_schemas", tmp_path], cwd=ROOT, check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # fmt: skip
    made, kept = ({path.name: path.read_text() for path in folder.glob("*.schema.json")}
                  for folder in (tmp_path, ROOT / "workflow" / "schemas"))  # fmt: skip
    assert kept == {name: made[name] for name in ("project.schema.json",)}
    for text in made.values():
        assert json.loads(text)["additionalProperties"] is False
    assert "Report directory or archive" in made["plan.schema.json"]

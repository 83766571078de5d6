"""``verify`` names the claims that a changed file is about, in its last line."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.verification.affected_claims import affected_claims
from assay.verification.sign import sign
from tests.report.told import told_report
from tests.report_fixtures import signed_report, write_repository


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_report(write_repository(tmp_path_factory.mktemp("affected") / "repo"))


@pytest.fixture
def copy(report: Path, tmp_path: Path) -> Path:
    return shutil.copytree(report, tmp_path / report.name)


def last_line(assay: Any, changed: Path, key: Path) -> str:
    answer = assay("verify", changed, "--key", key / "signer.pub")
    assert answer.code == 1
    line: str = answer.out.splitlines()[-1]
    assert line.startswith(f"FAILED: {changed}: contents: ")
    return line.removeprefix(f"FAILED: {changed}: contents: ")


def test_of_samples_the_claims_are_named_that_rest_on_them(
    assay: Any, report: Path, copy: Path
) -> None:
    path = "evidence/h100/benchmark/demo_sweep.json.gz"
    samples = gzip.decompress((copy / path).read_bytes())
    (copy / path).write_bytes(gzip.compress(samples.replace(b"1", b"2", 1)))
    said = last_line(assay, copy, report)
    assert said.startswith("the verdict on demo_rate on h100 rests on what was changed: ") or (
        "demo_rate on h100" in said and "rest on what was changed: " in said
    )
    assert path in said
    assert "demo_program on h100" not in said


def test_of_verdicts_the_changed_one_is_named_with_both_figures(
    assay: Any, report: Path, copy: Path
) -> None:
    file = json.loads((copy / "verdicts.json").read_text())
    figure = next(v for v in file["verdicts"] if v["claim"] == "demo_rate")
    was, figure["measured"] = figure["measured"], 999.0
    (copy / "verdicts.json").write_text(json.dumps(file))
    said = last_line(assay, copy, report)
    assert said.startswith(
        "the raw samples give other verdicts on demo_rate on h100 (measured: given 999.0, "
        f"recomputed {was}): verdicts.json has "
    )


def test_of_a_page_the_claim_is_named_whose_figure_is_another(
    assay: Any, report: Path, copy: Path
) -> None:
    page = (copy / "report.html").read_text()
    head, line = page.split('<tbody class="claim" id="demo_rate"')
    figure = line.split("<td>")[2].split("<")[0]
    changed = line.replace(f"<td>{figure}", f"<td>9{figure}", 1)
    (copy / "report.html").write_text(f'{head}<tbody class="claim" id="demo_rate"{changed}')
    said = last_line(assay, copy, report)
    assert said.startswith(
        "the page shows other figures of demo_rate than the evidence gives: report.html has "
    )


def test_what_no_figure_rests_on_is_said_to_be_that(assay: Any, report: Path, copy: Path) -> None:
    """A text without figures of its own: no claim is made up."""
    (copy / "report.md").write_text("9" + (copy / "report.md").read_text())
    assert last_line(assay, copy, report).startswith("report.md has ")


def test_what_all_are_judged_by_names_some_and_counts_the_rest(assay: Any, tmp_path: Path) -> None:
    told = told_report(tmp_path / "repo")
    sign(told, tmp_path / "key.pem")
    judging = told / "evidence" / "config" / "judging.yaml"
    judging.write_text(judging.read_text() + "# more\n")
    said = last_line(assay, told, told)
    assert said.startswith("the verdicts on demo_rate on h100, ")
    assert " more claims rest on what was changed: evidence/config/judging.yaml has " in said


def test_of_verdicts_by_other_rules_the_signed_page_tells_which_was_changed(
    report: Path, copy: Path
) -> None:
    """A figure or a status that no row of the page has; as they were, none is named."""

    def said(**changes: object) -> str:
        file = json.loads((report / "verdicts.json").read_text())
        file["rules"] = 1
        next(v for v in file["verdicts"] if v["claim"] == "demo_rate").update(changes)
        (copy / "verdicts.json").write_text(json.dumps(file))
        return affected_claims(copy, ["verdicts.json"], None)

    assert said() == ""
    told = "the page, which is the one that was signed, says other things of demo_rate"
    assert said(measured=999.0) == told
    assert said(status="exceeded") == told

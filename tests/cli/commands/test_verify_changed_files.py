"""``verify`` names the claims that a changed file is about, in its last line."""

import gzip
import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.judging.rules import RULES
from assay.verification.affected_claims import affected_claims
from assay.verification.policy import Policy
from assay.verification.sign import sign
from tests import tar_filters
from tests.report.told import told_report
from tests.report_fixtures import REPOSITORY, signed_report, write_repository
from tests.verification.test_project_report import CODE, document


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


def test_a_page_of_another_code_is_compared_by_its_numbers(report: Path, copy: Path) -> None:
    """By another formatter an untouched figure reads otherwise, which accuses no claim."""
    names = ("report.html", "appendix.html", "report.md")
    made = {name: (report / name).read_text() for name in names}
    (figure,) = re.findall(r'id="demo_ratio".*?<td>.*?<td>([^ <]+)', made["report.html"], re.DOTALL)
    otherwise = {
        "report.html": made["report.html"].replace(f"<td>{figure}", "<td>200 µs"),
        "appendix.html": made["appendix.html"],
        "report.md": made["report.md"] + "told otherwise",
    }

    def said(page: str, rules: int) -> str:
        file = json.loads((report / "verdicts.json").read_text())
        (copy / "verdicts.json").write_text(json.dumps({**file, "rules": rules}))
        (copy / "report.html").write_text(page)
        return affected_claims(copy, ["report.html"], lambda *_: otherwise)

    names_it = "the page shows other figures of demo_rate than the evidence gives"
    head, line = made["report.html"].split('<tbody class="claim" id="demo_rate"')
    for cell in (1, 2):
        figure = line.split("<td>")[cell].split("<")[0]
        changed = line.replace(f"<td>{figure}", f"<td>9{figure}", 1)
        edited = f'{head}<tbody class="claim" id="demo_rate"{changed}'
        assert said(edited, RULES - 1) == names_it
        assert said(edited, RULES) == names_it, "of the same rules, by another code"
    assert said(made["report.html"] + "<!-- 9 -->", RULES - 1) == ""


def test_an_older_reports_page_is_read_in_its_own_units(tmp_path: Path) -> None:
    """All its figures are those of its verdicts, in whichever way they are written."""
    archive = REPOSITORY / "reports" / "published" / "hopper_20261122_sources.tar.xz"
    with tarfile.open(archive) as packed:
        for name in ("verdicts.json", "report.html"):
            packed.extract(f"hopper_20261122_sources/{name}", tmp_path, **tar_filters.DATA)
    old = tmp_path / "hopper_20261122_sources"
    assert json.loads((old / "verdicts.json").read_text())["rules"] < RULES
    page = (old / "report.html").read_text()

    def said(text: str) -> str:
        (old / "report.html").write_text(text)
        return affected_claims(old, ["report.html"], lambda *_: {"report.html": ""})

    assert said(page + "<!-- edited -->") == ""
    shown = "<td>111\N{NO-BREAK SPACE}TFLOP/s<td>91.53\N{NO-BREAK SPACE}TFLOP/s"
    assert shown in page
    named = "the page shows other figures of s000_baseline_bsr than the evidence gives"
    assert said(page.replace(shown, shown.replace("91.53", "111.3"))) == named


def test_of_claims_the_one_is_named_that_is_stated_otherwise(
    assay: Any, report: Path, copy: Path
) -> None:
    """Not the audits whose verdicts rest on the same file."""
    claims = copy / "evidence" / "config" / "claims" / "demo.yaml"
    text = claims.read_text()
    (value,) = re.findall(r"- id: demo_rate\n.*?value: (\S+)", text, re.DOTALL)
    head, rest = text.split("- id: demo_rate\n")
    claims.write_text(f"{head}- id: demo_rate\n{rest.replace(value, '9' + value, 1)}")
    said = last_line(assay, copy, report)
    assert said.startswith(
        "other claims are stated than were judged: demo_rate (claimed: judged "
        f"{float(value)}, stated 9{float(value)}): evidence/config/claims/demo.yaml has "
    )


def test_a_place_that_is_not_the_verifiers_is_named(report: Path, copy: Path) -> None:
    path = "evidence/config/claims/demo.yaml"
    text = (copy / path).read_text()
    place = '"Results & <figures>", line: 3'
    assert place in text
    (copy / path).write_text(text.replace(place, '"Results & <figures>", line: 4'))
    root = report.parents[1]
    said = affected_claims(copy, [path], None, Policy(None, root))
    assert said == f"otherwise than those of {root}: claims.demo_rate.place.line is 4, not 3"
    unsure = affected_claims(copy, [path, "evidence/pipeline.json"], None, Policy(None, root))
    assert "place" not in unsure, "the commit that it names may be anybody's"


def test_beside_another_figure_another_place_is_named(report: Path, copy: Path) -> None:
    path = "evidence/config/claims/demo.yaml"
    text = (copy / path).read_text()
    changed = text.replace("value: 200", "value: 250").replace('figures>", line: 3', 'f>", line: 3')
    (copy / path).write_text(changed)
    said = affected_claims(copy, [path], None, Policy(None, report.parents[1]))
    judged, _, own = said.partition("; otherwise than those of ")
    assert judged == (
        "other claims are stated than were judged: demo_rate (claimed: judged 200.0, stated 250.0)"
    )
    assert "claims.demo_rate.place.section is Results & <f>, not Results & <figures>" in own
    assert "demo_rate.value" not in own


@pytest.mark.parametrize("claim", ["demo_rate", "demo_ratio", "demo_audit"])
def test_a_claim_that_was_taken_out_is_named(
    assay: Any, report: Path, copy: Path, claim: str
) -> None:
    """Of ``demo_rate`` an audit and another claim speak: the files do not fit without it."""
    take_out(copy / "evidence" / "config", claim)
    said = last_line(assay, copy, report)
    assert said.startswith(
        f"other claims are stated than were judged: {claim} (judged, and not stated any more): "
    )


def test_a_claim_that_the_signer_took_out_is_named_by_the_verifiers_own(
    assay: Any, report: Path, tmp_path: Path
) -> None:
    """The report is signed without it; whoever verifies states it."""
    root = write_repository(tmp_path / "repo")
    take_out(root / "config", "demo_ratio")
    less = signed_report(root)
    given = ("--key", less / "signer.pub", "--policy", report.parents[1])
    answer = assay("verify", less, *given)
    assert answer.code == 1
    assert "claims/demo.yaml: claims.demo_ratio is absent, not {" in answer.out.splitlines()[-1]


def test_a_claim_that_the_verifier_took_out_since_is_named(
    assay: Any, report: Path, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "repo")
    take_out(root / "config", "demo_ratio")
    answer = assay("verify", report, "--key", report / "signer.pub", "--policy", root)
    assert answer.code == 1
    line = answer.out.splitlines()[-1]
    assert re.search(r"claims/demo\.yaml: claims\.demo_ratio is \{.*\}?, not absent", line)


def take_out(config: Path, entry: str) -> None:
    """Leave an entry out of the file of claims."""
    path = config / "claims" / "demo.yaml"
    before = path.read_text()
    text = re.sub(rf"(?ms)^  - id: {entry}\n.*?(?=^  - id|^\S|\Z)", "", before)
    assert text != before
    path.write_text(text)


def test_of_an_audit_its_own_printed_figure_is_compared(report: Path, copy: Path) -> None:
    path = "evidence/config/claims/demo.yaml"
    text = (copy / path).read_text()
    (copy / path).write_text(text.replace("claimed: {value: 2.0", "claimed: {value: 2.5"))
    named = "demo_audit (claimed: judged 2.0, stated 2.5)"
    said = affected_claims(copy, [path], None)
    assert said == f"other claims are stated than were judged: {named}"


def test_claims_that_are_stated_as_judged_fall_to_what_rests_on_their_file(
    report: Path, copy: Path
) -> None:
    path = "evidence/config/claims/demo.yaml"
    (copy / path).write_text((copy / path).read_text() + "# more\n")
    said = affected_claims(copy, [path], None)
    assert said == "the verdict on demo_audit rests on what was changed"


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


def test_of_a_projects_claims_the_changed_one_is_named(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    (root / "project").mkdir()
    (root / "project" / "assay.yaml").write_text(yaml.safe_dump(document()))
    (root / "project" / "rows.py").write_text(CODE)
    report = signed_report(root, key=tmp_path / "key")
    path = "evidence/project/assay.yaml"
    (report / path).write_text((report / path).read_text().replace("1.5x", "2.5x"))
    said = affected_claims(report, [path], None)
    assert (
        said == "other claims are stated than were judged: ratio (claimed: judged 1.5, stated 2.5)"
    )

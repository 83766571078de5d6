"""A verdict status is one entry of one table, and everything else follows."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.records.verdicts import Status

REPOSITORY = Path(__file__).resolve().parents[2]
ENTRY = """
    UNHEARD_OF = (
        "unheard_of",
        StatusFacts(
            light="#123456", dark="#fedcba", badge="ring", mark="s", severity=1, basis="interval",
            strict=True,
        ),
    )
"""
SCRIPT = """
import json, sys
from pathlib import Path

from tools.readme_table import result_tables

from assay.base.errors import CheckFailed
from assay.base.io import read_record, write_record
from assay.catalog.load import load_catalog
from assay.cli import checkout, console
from assay.cli.commands.reproduce import tell_outcome
from assay.cli.comparison_output import show_comparison
from assay.evidence.load import load_evidence
from assay.findings.report_figures import UNWRITTEN, figures_of_verdicts
from assay.findings.run_summary import summarise
from assay.records.verdicts import Status, VerdictsFile
from assay.report.comparison_page import comparison_view
from assay.report.render import render
from assay.findings.given_report import GivenReport
from tests.report_fixtures import make_request, provision, write_repository, write_run

root = write_repository(Path(sys.argv[1]))
run_dir = write_run(root)
verdicts = read_record(VerdictsFile, run_dir / "verdicts.json")
first = next(one.claim for one in verdicts.verdicts if one.ci90 is not None)
changed = tuple(
    one.model_copy(update={"status": Status("unheard_of")}) if one.claim == first else one
    for one in verdicts.verdicts
)
verdicts = verdicts.model_copy(update={"verdicts": changed})
write_record(verdicts, run_dir / "verdicts.json")
render(root, run_dir, root / "reports" / "demo_run")
checkout.ROOT = root
chance = summarise(load_catalog(root), load_evidence(run_dir), verdicts).chance
try:
    tell_outcome(make_request("demo_run", [provision()], ["demo"]), strict=True)
    strict = ""
except CheckFailed as error:
    strict = str(error)
figures = figures_of_verdicts(verdicts, UNWRITTEN)
given = GivenReport("demo_run", "demo_run", figures, "key", "signed")
show_comparison(comparison_view([given, given], ()), ["rest"])
facts = {
    "strict": strict,
    "judged": chance.judged,
    "decided": chance.decided,
    "intervals": sum(one.ci90 is not None for one in verdicts.verdicts),
    "readme": result_tables(load_catalog(root), verdicts, "reports/demo_run"),
}
Path(sys.argv[2]).write_text(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository's code with one more status, after ``not_reproduced``."""
    house = tmp_path_factory.mktemp("house")
    for part in ("src", "tools", "reports/templates"):
        shutil.copytree(REPOSITORY / part, house / part)
    for path in (REPOSITORY / "tests").glob("*.py"):
        (house / "tests").mkdir(exist_ok=True)
        shutil.copy(path, house / "tests")
    module = house / "src" / "assay" / "records" / "verdicts.py"
    before = "    INCONCLUSIVE = (\n"
    text = module.read_text()
    assert text.count(before) == 1
    module.write_text(text.replace(before, ENTRY + before))
    return house


@pytest.fixture(scope="module")
def used(house: Path) -> tuple[Path, str, dict[str, str]]:
    """Where it was rendered, what the terminal said, what else was found."""
    root, facts = house / "repo", house / "facts.json"
    result = subprocess.run(
        (sys.executable, "-c", SCRIPT, root, facts),
        cwd=house,
        env={**os.environ, "PYTHONPATH": f"{house / 'src'}:{house}", "COLUMNS": "150"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return root / "reports" / "demo_run", result.stdout, json.loads(facts.read_text())


class TestAMadeUpStatus:
    """Nothing but its entry was added, yet every reader knows it."""

    def test_has_its_column_and_its_word_on_the_page(self, used: tuple[Path, str, object]) -> None:
        page = (used[0] / "report.html").read_text()
        heads = re.findall(r'<th class="n">([\w ]+)', page)
        assert heads.index("unheard of") < heads.index("not run")
        assert re.search(r'<span class="badge"><svg .*?</svg>unheard of</span>', page)
        assert '<option value="v:unheard_of">unheard of<' in page
        assert " unheard of |" in (used[0] / "report.md").read_text()

    def test_is_coloured_in_both_themes_and_shaped(self, used: tuple[Path, str, object]) -> None:
        page = (used[0] / "report.html").read_text()
        assert re.findall(r"--status-unheard-of: (#\w+);", page) == ["#123456", "#fedcba"]
        assert ".s-unheard_of { color: var(--status-unheard-of); }" in page
        assert 'class="mark s-unheard_of hollow"' in page

    def test_is_drawn_in_its_colour(self, used: tuple[Path, str, object]) -> None:
        page = (used[0] / "report.html").read_text()
        assert re.search(r'<a href="#\w+" tabindex="-1" class="s-unheard_of hollow">', page)

    def test_fails_strict_and_is_named_there(self, used: tuple[Path, str, dict[str, str]]) -> None:
        said = used[2]["strict"]
        assert said.startswith("--strict: ")
        assert said.endswith(" not reproduced, misstated, unheard of, incorrect or inconsistent")

    def test_counts_as_judged_and_decided(self, used: tuple[Path, str, dict[str, int]]) -> None:
        assert used[2]["judged"] == used[2]["decided"] == used[2]["intervals"] > 1

    def test_is_printed_at_the_terminal(self, used: tuple[Path, str, object]) -> None:
        assert re.search(r"\b1 unheard of\b", used[1])
        assert "unheard of: " in used[1]

    def test_is_counted_in_the_readme(self, used: tuple[Path, str, dict[str, str]]) -> None:
        (line,) = [row for row in used[2]["readme"].splitlines() if row.startswith("| demo: ")]
        assert "1 unheard of, " in line


class TestTheTable:
    """Its entries can be told apart and put in order."""

    def test_codes_and_words(self) -> None:
        assert [status.value for status in Status] == [
            "reproduced", "exceeded", "not_reproduced", "misstated", "elsewhere", "inconclusive",
            "incorrect", "consistent", "inconsistent", "not_run",
        ]  # fmt: skip
        assert Status("not_reproduced").word == "not reproduced"

    def test_drawn_ones_have_colours_and_marks_of_their_own(self) -> None:
        drawn = [status.facts for status in Status if status.facts.mark]
        assert len({facts.light for facts in drawn}) == len(drawn)
        assert len({facts.mark for facts in drawn}) == len(drawn)

    def test_of_several_terms_the_worst_comes_first(self) -> None:
        terms = [
            status
            for status in Status
            if status.facts.basis != "arithmetic" and status is not Status.ELSEWHERE
        ]
        assert sorted(terms, key=lambda status: status.facts.severity) == [
            Status.INCORRECT, Status.NOT_REPRODUCED, Status.MISSTATED, Status.NOT_RUN,
            Status.INCONCLUSIVE, Status.REPRODUCED, Status.EXCEEDED,
        ]  # fmt: skip

"""The claims of this repository, the page of what is no claim, and how bad ones stop a run."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.judging.printed_figures import audit
from assay.records.evaluations import Benchmark, Program
from assay.shared.expressions import parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of all that load_catalog reads."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for manifest in (ROOT / "kernels").glob("*/kernel.yaml"):
        target = tmp_path / "kernels" / manifest.parent.name
        target.mkdir(parents=True)
        shutil.copy(manifest, target)
    return tmp_path


class TestRealClaims:
    """The claims files of this repository."""

    def test_what_ran_as_the_author_ran_it_counts_the_k_that_the_author_counts(self, catalog):
        """Blocks of 96 and 112 cover more than K = 8192; the program counts 8192 all the same."""
        counted = [
            (claim.id, reading.says, reading.flops)
            for claim in catalog.claims.values()
            for reading in claim.readings
            if reading.id.startswith("as_run") and isinstance(reading.evaluation, Benchmark)
        ]
        assert len(counted) > 10
        problem = {"m": 8192, "n": 8192, "k": 8288, "density_a": 16 / 74}
        for name, says, formula in counted:
            assert formula is not None, name
            assert parse(formula).value(problem) == 2 * 8192**3 * 16 / 74, name
            assert "K = 8192" in says, name

    def test_stated_arguments_ask_for_the_stated_shape(self, catalog: Catalog) -> None:
        for claim in catalog.claims.values():
            if isinstance(claim.evaluation, Program):
                for argument in claim.evaluation.stated.arguments:
                    key, value = argument.removeprefix("--").split("=")
                    if key in claim.evaluation.stated.shape:
                        assert claim.evaluation.stated.shape[key] == int(value), claim.id


INCONSISTENT = {"s000_audit_phase1_low", "s003_audit_target_effective"}
"""Relations that a source asserts by its printed figures alone, and that do not hold."""
INCONSISTENT_IF = {
    "s002_audit_mean_beats_cutlass",
    "s003_audit_two_gemms",
    "s004_audit_speedup_times",
}
"""Those that need an assumption."""


def test_exactly_the_known_relations_disagree(catalog: Catalog) -> None:
    found = {
        (entry.id, entry.assumes is not None)
        for entry in catalog.audits.values()
        if not audit(entry.formula, entry.operands, entry.claimed, catalog.claims).consistent
    }
    assert {name for name, assumed in found if not assumed} == INCONSISTENT
    assert {name for name, assumed in found if assumed} == INCONSISTENT_IF


def test_the_page_and_the_note_name_the_figure_that_is_judged(catalog: Catalog) -> None:
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| \d+ \|.*at least ([\d.]+)x \| `(\w+)` \|$", re.MULTILINE)
    own = page[page.index("## assay:") :]
    on_page = {name: float(figure) for figure, name in row.findall(own)}
    claims = catalog.sources["assay"].claims
    assert on_page == {claim.id: claim.value for claim in claims}
    for claim in claims:
        if (noted := re.match(r"At least ([\d.]+);", claim.note or "")) is not None:
            assert float(noted[1]) == claim.value, claim.id


Edit = Callable[[dict[str, Any]], object]


def _first(data: dict[str, Any]) -> dict[str, Any]:
    claim: dict[str, Any] = data["claims"][0]
    return claim


def _of(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(claim for claim in data["claims"] if claim["id"] == name)


def _term(data: dict[str, Any], **changes: Any) -> None:
    _first(data)["evaluation"]["terms"][0].update(changes)


def _operand(data: dict[str, Any], **changes: Any) -> None:
    data["audits"][0]["operands"][0].update(changes)


LITERAL = {"claim": None, "value": 1.0, "resolution": 0.0, "what": "one",
           "place": {"section": "A", "line": 1, "source": "nowhere"}}  # fmt: skip
DEFECTS: tuple[tuple[Edit, tuple[str, ...]], ...] = (
    (lambda d: _first(d).update(speed=1), ("'s002_baseline': speed",)),
    (lambda d: _first(d).update(value=float("nan")), ("line ", "no finite number")),
    (lambda d: _first(d).update(value="about 111"), ("'s002_baseline': value",)),
    (lambda d: _first(d).update(resolution=0), ("resolution 0 is for counts and for bounds",)),
    (lambda d: _first(d).update(value=0), ("value 0 cannot be a figure in TFLOP/s",)),
    (lambda d: _first(d).update(unit="tflip"), ("'s002_baseline': unit", "known: ")),
    (lambda d: _first(d).update(unit="ms"), ("unit ms does not fit metric rate",)),
    (lambda d: _of(d, "s002_tma_no_gain")["evaluation"]["terms"][0].pop("over"),
     ("s002_tma_no_gain", "names in over")),
    (lambda d: _first(d).update(id="../up"), ("claim '../up': id",)),
    (lambda d: d.update(schema="assay/claims/9"), ("schema",)),
    (lambda d: d["sources"][0].update(id="005"), ("source id is '005'",)),
    (lambda d: _first(d).update(id="s000_gap"), ("'s000_gap' is given twice", "000.yaml")),
    (lambda d: _term(d, comparison="no_such"), ("'s002_baseline'", "no comparison 'no_such'")),
    (lambda d: _term(d, arm="stage9"), ("no arm of 'bsr_bsr_stages' 'stage9'",)),
    (lambda d: _first(d)["hardware"].update(target="b200"), ("no target 'b200'",)),
    (lambda d: _operand(d, claim="s002_no_such"), ("'s002_audit_margin'", "'s002_no_such'")),
    (lambda d: _operand(d, **LITERAL), ("audit 's002_audit_margin'", "no source 'nowhere'")),
    (lambda d: _operand(d, claim="s004_tma_sm89"), ("'s004_tma_sm89' carries no value",)),
    (lambda d: _of(d, "s002_margin")["evaluation"].update(numerator="s002_gap_phase1"),
     ("claim 's002_margin'", "'s002_gap_phase1', which is itself derived")),
)  # fmt: skip
"""What is wrong with source 002, and words of the sentence on it."""


def _refusal(tree: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load_catalog(tree)
    sentence = str(caught.value)
    assert "\n" not in sentence, sentence
    assert caught.value.exit_code == 2
    return sentence


@pytest.mark.parametrize(("edit", "words"), DEFECTS, ids=[words[-1] for _, words in DEFECTS])
def test_a_defect_is_named_by_file_and_field(tree, edit, words):
    path = tree / "config" / "claims" / "002.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    sentence = _refusal(tree)
    assert all(word in sentence for word in ("002.yaml", *words)), sentence

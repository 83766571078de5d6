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
from assay.records.evaluations import (
    Benchmark,
    Program,
)
from assay.shared.expressions import parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


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

    def test_what_ran_as_the_author_ran_it_counts_the_k_that_the_author_counts(
        self, catalog: Catalog
    ) -> None:
        """Blocks of 96 and 112 cover more than K = 8192; the program counts 8192 all the same."""
        counted = [
            (claim.id, reading.says, reading.flops)
            for claim in catalog.claims.values()
            for reading in claim.readings
            if reading.id.startswith("as_run") and isinstance(reading.evaluation, Benchmark)
        ]
        assert len(counted) > 15
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


INCONSISTENT = {
    "s000_audit_phase1_low",
    "s002_audit_mean_beats_cutlass",
    "s003_audit_target_effective",
}
"""Relations that a source asserts by its printed figures alone, and that do not hold."""
INCONSISTENT_IF = {
    "s000_audit_window_128k",
    "s001_audit_stretch_latency_131k",
    "s001_audit_stretch_growth",
    "s001_audit_stretch_time",
    "s002_audit_one_problem",
    "s002_audit_time_of_tiles",
    "s003_audit_two_gemms",
    "s003_audit_softmax_bandwidth",
    "s003_audit_fusion_bound",
    "s003_audit_deterministic",
    "s004_audit_speedup_times",
}
"""Those that need an assumption."""


class TestArithmetic:
    """The relations between published figures, recomputed from the figures as transcribed."""

    def test_exactly_the_known_relations_disagree(self, catalog: Catalog) -> None:
        found = {
            (entry.id, entry.assumes is not None)
            for entry in catalog.audits.values()
            if not audit(entry.formula, entry.operands, entry.claimed, catalog.claims).consistent
        }
        assert {name for name, assumed in found if not assumed} == INCONSISTENT
        assert {name for name, assumed in found if assumed} == INCONSISTENT_IF


class TestOwnTargets:
    """A target of this project is told in three places, and is the same in all."""

    def test_the_page_and_the_note_name_the_figure_that_is_judged(self, catalog: Catalog) -> None:
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


DEFECTS: dict[str, tuple[str, Edit, tuple[str, ...]]] = {
    "unknown key in a claim": (
        "002",
        lambda d: _first(d).update(speed=1),
        ("'s002_baseline': speed",),
    ),
    "a value that is not a number": (
        "002",
        lambda d: _first(d).update(value=float("nan")),
        ("line ", "no finite number"),
    ),
    "a value that is no figure": (
        "002",
        lambda d: _first(d).update(value="about 111"),
        ("'s002_baseline': value",),
    ),
    "a resolution of 0 for a rounded figure": (
        "002",
        lambda d: _first(d).update(resolution=0),
        ("s002_baseline", "resolution 0 is for counts and for bounds"),
    ),
    "a rate of 0": (
        "002",
        lambda d: _first(d).update(value=0),
        ("s002_baseline", "value 0 cannot be a figure in TFLOP/s"),
    ),
    "an unknown unit": (
        "002",
        lambda d: _first(d).update(unit="tflip"),
        ("'s002_baseline': unit", "did you mean"),
    ),
    "a unit that does not fit its metric": (
        "002",
        lambda d: _first(d).update(unit="ms"),
        ("s002_baseline", "unit ms does not fit metric rate"),
    ),
    "a ratio without its baseline arm": (
        "002",
        lambda d: _of(d, "s002_tma_no_gain")["evaluation"]["terms"][0].pop("over"),
        ("s002_tma_no_gain", "names in over"),
    ),
    "an unsafe id": ("002", lambda d: _first(d).update(id="../up"), ("claim '../up': id",)),
    "an unknown schema": ("002", lambda d: d.update(schema="assay/claims/9"), ("schema",)),
    "another file name than the source id": (
        "002",
        lambda d: d["source"].update(id="005"),
        ("source id is '005'",),
    ),
    "an id that another file has": (
        "002",
        lambda d: _first(d).update(id="s000_gap"),
        ("'s000_gap' is given twice", "000.yaml"),
    ),
}

DANGLING: dict[str, tuple[str, Edit, tuple[str, ...]]] = {
    "an unknown comparison": (
        "002",
        lambda d: _first(d)["evaluation"]["terms"][0].update(comparison="no_such"),
        ("claim 's002_baseline'", "no comparison 'no_such'"),
    ),
    "an unknown arm": (
        "002",
        lambda d: _first(d)["evaluation"]["terms"][0].update(arm="stage9"),
        ("claim 's002_baseline'", "no arm of 'bsr_bsr_stages' 'stage9'"),
    ),
    "an unknown probe": (
        "004",
        lambda d: _of(d, "s004_tma_sm89")["evaluation"].update(probe="probe_no_such"),
        ("claim 's004_tma_sm89'", "no probe 'probe_no_such'"),
    ),
    "an unknown target": (
        "002",
        lambda d: _first(d)["hardware"].update(target="b200"),
        ("claim 's002_baseline'", "no target 'b200'"),
    ),
    "an unknown operand": (
        "002",
        lambda d: d["audits"][0]["operands"][0].update(claim="s002_no_such"),
        ("audit 's002_audit_margin'", "no claim 's002_no_such'"),
    ),
    "an unknown document of an operand": (
        "002",
        lambda d: d["audits"][0]["operands"].__setitem__(
            0,
            {
                "value": 1.0,
                "resolution": 0.0,
                "what": "one",
                "place": {"section": "A", "line": 1, "source": "nowhere"},
            },
        ),
        ("audit 's002_audit_margin'", "no source 'nowhere'"),
    ),
    "an operand without a value": (
        "002",
        lambda d: d["audits"][0]["operands"][0].update(claim="s004_tma_sm89"),
        ("audit 's002_audit_margin'", "'s004_tma_sm89' carries no value"),
    ),
    "a claim derived from a derived one": (
        "002",
        lambda d: _of(d, "s002_margin")["evaluation"].update(numerator="s002_gap_phase1"),
        ("claim 's002_margin'", "'s002_gap_phase1', which is itself derived"),
    ),
}


def _defective(tree: Path, source: str, edit: Edit) -> str:
    """The sentence that stops a run whose claims of ``source`` were edited."""
    path = tree / "config" / "claims" / f"{source}.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return _refusal(tree)


def _refusal(tree: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load_catalog(tree)
    sentence = str(caught.value)
    assert "\n" not in sentence, sentence
    assert caught.value.exit_code == 2
    return sentence


class TestBadInput:
    """Each defect stops the run with one sentence that says where."""

    @pytest.mark.parametrize("defect", DEFECTS)
    def test_a_defect_is_named_by_file_and_field(self, tree: Path, defect: str) -> None:
        source, edit, words = DEFECTS[defect]
        sentence = _defective(tree, source, edit)
        for word in (f"{source}.yaml", *words):
            assert word in sentence, sentence

    @pytest.mark.parametrize("defect", DANGLING)
    def test_a_dangling_reference_names_claim_and_id(self, tree: Path, defect: str) -> None:
        source, edit, words = DANGLING[defect]
        sentence = _defective(tree, source, edit)
        for word in (f"{source}.yaml", *words):
            assert word in sentence, sentence

    def test_text_that_is_no_yaml_is_named(self, tree: Path) -> None:
        (tree / "config" / "claims" / "assay.yaml").write_text("claims: [")
        assert re.search(r"assay.yaml: line [0-9]+: not valid YAML", _refusal(tree))

    def test_a_folder_without_claims_is_named(self, tree: Path) -> None:
        for path in (tree / "config" / "claims").glob("*.yaml"):
            path.unlink()
        assert "holds no .yaml file" in _refusal(tree)

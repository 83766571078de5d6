"""The claims of this repository, the page of what is no claim, and how bad ones stop a run."""

import itertools
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
from assay.judging.audit import audit
from assay.records.arithmetic import Operand
from assay.records.claims import ClaimKind, Relation
from assay.records.evaluations import (
    Arithmetic,
    Benchmark,
    Compiles,
    Derived,
    Metric,
    NotRun,
    Program,
    Support,
    Unanswerable,
)
from assay.records.readings import FlopFormula
from assay.records.units import Unit
from assay.records.workloads import Operation
from assay.shared.expressions import parse

ROOT = Path(__file__).resolve().parents[2]
PRINTED = {
    "s000_phase1_range": "150-200",
    "s000_phase1_range_gain": "1.5-1.8",
    "s000_phase2_range": "250-350",
    "s000_phase3_range": "400-450",
    "s000_phase4_range": "450-500",
    "s000_sparse_8k_speedup": "0.83",
    "s000_window_32k_speedup": "16",
    "s000_window_128k_speedup": "~500",
    "s000_long_context_speedup": "10-50",
    "s001_fmha_about_600": "~600",
    "s001_option3": "400-500",
    "s001_realistic_latency": "~40",
    "s001_realistic_gain": "3.6-4.5",
    "s001_stretch_rate": "500-550",
    "s001_advantage": "100-500",
    "s003_memory_bandwidth": "~3.35",
    "s003_fusion_gain": "~50",
}
"""Figures that are ranges, or approximate, or no bounds though they were predicted."""
SOURCES = ["000", "001", "002", "003", "004", "assay"]


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

    def test_every_source_is_there(self, catalog: Catalog) -> None:
        assert sorted(catalog.sources) == SOURCES

    @pytest.mark.parametrize("source", SOURCES[:-1])
    def test_documents_are_named_by_file_and_digest(self, catalog: Catalog, source: str) -> None:
        document = catalog.sources[source].source
        assert document.file is not None
        assert document.sha256 is not None
        assert document.file.startswith(f"{source}_")

    def test_own_statements_have_no_document(self, catalog: Catalog) -> None:
        assert catalog.sources["assay"].source.file is None

    @pytest.mark.parametrize("source", SOURCES[:-1])
    def test_ids_start_with_their_source(self, catalog: Catalog, source: str) -> None:
        file = catalog.sources[source]
        entries = [entry.id for entry in (*file.claims, *file.audits)]
        assert [name for name in entries if not name.startswith(f"s{source}_")] == []

    def test_targets_are_bounds_but_for_those_with_a_tilde(self, catalog: Catalog) -> None:
        equal = [
            claim.id
            for claim in catalog.claims.values()
            if claim.kind is ClaimKind.TARGET
            and claim.relation is Relation.EQUALS
            and not claim.about
        ]
        assert equal == []

    def test_a_figure_is_shown_as_its_source_prints_it(self, catalog: Catalog) -> None:
        printed = {name: catalog.claims[name].as_printed for name in PRINTED}
        assert printed == PRINTED

    def test_quoted_comparators_show_the_nearest_measured_thing(self, catalog: Catalog) -> None:
        for name in ("s003_sglang", "s003_vllm"):
            evaluation = catalog.claims[name].evaluation
            assert isinstance(evaluation, Unanswerable)
            assert evaluation.reason is NotRun.CONFIGURATION_MISSING
            assert evaluation.nearest

    def test_every_stage_of_source_002_is_read_as_its_own_program_counts(
        self, catalog: Catalog
    ) -> None:
        for stage in ("baseline", "phase1", "phase2", "final"):
            readings = {entry.id: entry for entry in catalog.claims[f"s002_{stage}"].readings}
            assert {"count_a", "as_run", "dense_b", "whole", "whole_dense_b"} <= readings.keys()
            assert readings["count_a"].flops == "2 * m * n * k * density_a"

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

    def test_a_ratio_of_two_claims_is_derived_from_them(self, catalog: Catalog) -> None:
        """So that it stands no better than its parts, and has their readings."""
        arms = {
            (catalog.source_of[claim.id], term.comparison, term.arm)
            for claim in catalog.claims.values()
            if isinstance(claim.evaluation, Benchmark)
            and claim.evaluation.metric in (Metric.RATE, Metric.TIME)
            for term in claim.evaluation.terms
        }
        apart = {
            claim.id
            for claim in catalog.claims.values()
            if isinstance(claim.evaluation, Benchmark) and claim.relation.two_sided
            for term in claim.evaluation.terms
            if {
                (catalog.source_of[claim.id], term.comparison, name)
                for name in (term.arm, term.over)
            }
            <= arms
            and term.over is not None
        }
        # Said to be what a fusion could bring: neither side is the claim of a kernel that is fused.
        assert apart == {"s003_fusion_gain"}

    def test_statements_of_no_difference_have_no_better_side(self, catalog: Catalog) -> None:
        alike = {name for name, c in catalog.claims.items() if c.relation is Relation.SAME}
        assert alike == {
            "s002_wgmma_no_gain",
            "s002_tma_no_gain",
            "s002_warp_specialization",
        }
        equal_to_one = {
            name
            for name, c in catalog.claims.items()
            if (c.value, c.unit, c.relation) == (1, Unit.RATIO, Relation.EQUALS)
        }
        assert equal_to_one == set()

    @pytest.mark.parametrize(
        "name", ["s002_cutlass", "s000_fmha_65k", "s000_fmha_8k", "s000_fmha_32k"]
    )
    def test_what_rounds_the_table_of_source_001_is_read_as_its_command_too(
        self, catalog: Catalog, name: str
    ) -> None:
        """One program's 603 and 600 are had by one command: they have one cause."""
        (typed,) = catalog.claims[name].readings
        assert isinstance(typed.evaluation, Program)
        commands = {
            claim.evaluation.typed
            for claim in catalog.claims.values()
            if catalog.source_of[claim.id] == "001" and isinstance(claim.evaluation, Program)
        }
        assert typed.evaluation.stated.arguments in commands
        assert (typed.evaluation.figure, typed.differs) == ("*", "problem")

    def test_tma_is_held_against_cp_async_in_one_kernel(self, catalog: Catalog) -> None:
        """Loads alone tie where memory bounds them: they answer nothing of a product."""
        evaluation = catalog.claims["s002_tma_no_gain"].evaluation
        assert isinstance(evaluation, Benchmark)
        (term,) = evaluation.terms
        arms = {arm.id: arm for arm in catalog.comparisons[term.comparison].arms}
        assert term.over is not None
        tma, rival = (catalog.variants[arms[name].variant] for name in (term.arm, term.over))
        assert arms[term.arm].workload == arms[term.over].workload
        assert (tma.operation, rival.id) == (Operation.BSR_GEMM, "bsr_gemm_stage2")
        shared = {"BM", "BN", "BK", "WM", "WN"}
        assert {k: tma.defines[k] for k in shared} == {k: rival.defines[k] for k in shared}

    def test_what_a_stage_brings_along_is_no_answer(self, catalog: Catalog) -> None:
        """An instruction and a producer warp come with TMA and rings here: both have no answer."""
        for name in ("s002_wgmma_no_gain", "s002_warp_specialization"):
            evaluation = catalog.claims[name].evaluation
            assert isinstance(evaluation, Unanswerable)
            assert evaluation.reason is NotRun.NOT_IMPLEMENTED
            assert evaluation.nearest

    def test_over_dense_cutlass_is_measured_over_cutlass(self, catalog: Catalog) -> None:
        """At both sizes, by one count of both sides, and windows that are counted alike."""
        formula = "4 * b * h * q * k_len * d"
        for size in ("32k", "128k"):
            evaluation = catalog.claims[f"s000_window_{size}_speedup"].evaluation
            assert isinstance(evaluation, Derived)
            assert evaluation.flops == formula
            dense = catalog.claims[evaluation.denominator].evaluation
            assert isinstance(dense, Program) and dense.program == "cutlass_example_88"
        windows = [catalog.workloads[f"window_{size}_d64"] for size in ("32k", "128k")]
        assert windows[0].pattern == windows[1].pattern
        assert {(each.window_left, each.window_right) for each in windows} == {(2047, 0)}

    def test_what_compiles_is_asked_of_the_gpu_that_is_named(self, catalog: Catalog) -> None:
        (published,) = catalog.sources["004"].compilations
        asked = {
            name: (claim.evaluation.arch, claim.evaluation.expect, claim.evaluation.text)
            for name, claim in catalog.claims.items()
            if isinstance(claim.evaluation, Compiles)
        }
        assert asked == {
            "s004_triage_l4": ("sm_89", "fails", None),
            "s004_triage_arrays": ("sm_89", "fails", "zero-sized variable"),
        }
        assert published.archs == ("sm_89",)

    def test_one_sentence_on_five_rows_of_a_table_is_named_once(self, catalog: Catalog) -> None:
        rows = [c for name, c in catalog.claims.items() if "_pingpong_faster_" in name]
        audits = [a for name, a in catalog.audits.items() if "_pingpong_faster_" in name]
        assert {c.sentence for c in rows} == {a.sentence for a in audits} == {"pingpong_faster"}
        assert len(rows) == len(audits) == 5

    def test_all_cells_of_the_architecture_matrix_are_claims(self, catalog: Catalog) -> None:
        features = ("wmma", "cp_async", "tma", "wgmma", "fa2", "fa3")
        for arch in ("sm89", "sm90", "sm100"):
            for feature in features:
                assert catalog.claims[f"s004_{feature}_{arch}"].kind is ClaimKind.SUPPORT

    def test_hopper_features_are_expected_to_fail_on_an_l4(self, catalog: Catalog) -> None:
        for name in ("s004_tma_sm89", "s004_wgmma_sm89"):
            evaluation = catalog.claims[name].evaluation
            assert isinstance(evaluation, Support)
            assert (evaluation.arch, evaluation.expect) == ("sm_89", "fails")

    def test_typed_flags_of_example_88_are_kept_as_typed(self, catalog: Catalog) -> None:
        """Single dashes: CUTLASS ignores them, which is why typed and stated differ."""
        evaluation = catalog.claims["s001_fmha_pingpong_s4096"].evaluation
        assert isinstance(evaluation, Program)
        typed = ("-b", "1", "-h", "8", "-q", "4096", "-k", "4096", "-d", "64")
        assert evaluation.typed == typed
        assert evaluation.stated.arguments == ("--b=1", "--h=8", "--q=4096", "--k=4096", "--d=64")

    def test_stated_arguments_ask_for_the_stated_shape(self, catalog: Catalog) -> None:
        for claim in catalog.claims.values():
            if isinstance(claim.evaluation, Program):
                for argument in claim.evaluation.stated.arguments:
                    key, value = argument.removeprefix("--").split("=")
                    if key in claim.evaluation.stated.shape:
                        assert claim.evaluation.stated.shape[key] == int(value), claim.id

    def test_example_41_is_stated_without_the_causal_default(self, catalog: Catalog) -> None:
        claim = catalog.claims["s004_fmha_rate"]
        assert isinstance(claim.evaluation, Program)
        assert "--causal=false" in claim.evaluation.stated.arguments
        assert claim.flop_formula is FlopFormula.CUTLASS_41_FULL

    def test_derived_claims_have_the_unit_of_their_formula(self, catalog: Catalog) -> None:
        units = {"quotient": "ratio", "percent_gain": "percent"}
        for claim in catalog.claims.values():
            if isinstance(claim.evaluation, Derived):
                assert claim.unit is not None
                assert claim.unit.value == units[claim.evaluation.formula], claim.id


INCONSISTENT = {
    "s000_audit_phase1_low",
    "s002_audit_mean_beats_cutlass",
    "s003_audit_target_effective",
    "s004_audit_speedup_times",
}
"""Relations that a source asserts by its printed figures alone, and that do not hold."""
INCONSISTENT_IF = {
    "s000_audit_window_128k",
    "s000_audit_long_context",
    "s000_audit_window_32k_time",
    "s000_audit_week1_hours",
    "s000_audit_65k_in_table",
    "s001_audit_cooperative_about_600",
    "s001_audit_latency_low",
    "s001_audit_latency_high",
    "s001_audit_stretch_latency_8k",
    "s001_audit_stretch_latency_131k",
    "s001_audit_stretch_growth",
    "s001_audit_stretch_work",
    "s001_audit_stretch_time",
    "s001_audit_advantage_32k",
    "s002_audit_one_problem",
    "s002_audit_time_of_tiles",
    "s002_audit_bk112_divides",
    "s002_audit_bk96_divides",
    "s002_audit_waits",
    "s002_audit_occupancy",
    "s003_audit_two_gemms",
    "s003_audit_softmax_bandwidth",
    "s003_audit_fusion_bound",
    "s003_audit_deterministic",
}
"""Those that need an assumption."""


class TestAcrossSources:
    """Audits that hold figures of two documents against each other."""

    def test_claims_and_places_of_another_source(self, catalog: Catalog) -> None:
        for entry in catalog.audits.values():
            named = {catalog.source_of[each.claim] for each in entry.operands if each.claim}
            if named - {catalog.source_of[entry.id]}:
                assert entry.assumes is not None, entry.id

    def test_what_only_a_public_original_answers_says_how_to_get_there(
        self, catalog: Catalog
    ) -> None:
        for claim in catalog.claims.values():
            evaluation = claim.evaluation
            if (
                isinstance(evaluation, Unanswerable)
                and evaluation.reason is NotRun.ORIGINAL_UNAVAILABLE
            ):
                source = catalog.source_of[claim.id]
                original = catalog.sources[source].original
                assert original is not None
                if original.figure_of(claim.id) is None:
                    assert "give a checkout" not in evaluation.detail
                    continue
                assert f"give a checkout with --original {source}=DIR" in " ".join(
                    evaluation.detail.split()
                )
                assert ("--original-run" in evaluation.detail) == (original.run is None)


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

    def test_what_rests_on_another_document_or_on_a_size_of_nobody_says_so(
        self, catalog: Catalog
    ) -> None:
        """What a source does not print is no fault of its figures."""
        for name, entry in catalog.audits.items():
            parts = [part for operand in entry.operands for part in operand.parts()]
            elsewhere = any(
                (part.place is not None and part.place.source is not None)
                or (
                    part.claim is not None
                    and catalog.source_of[part.claim] != catalog.source_of[name]
                )
                for part in parts
            )
            work = any("FLOP" in (part.what or "") for part in parts)
            if (elsewhere or work) and name != "s003_audit_grouped_gemm":
                assert entry.assumes, name

    def test_the_strongest_is_named_first(self, catalog: Catalog) -> None:
        (first,) = (entry for entry in catalog.audits.values() if entry.leads)
        assert (first.id, first.id in INCONSISTENT) == ("s002_audit_mean_beats_cutlass", True)

    def test_every_recomputed_figure_agrees(self, catalog: Catalog) -> None:
        for claim in catalog.claims.values():
            if isinstance(claim.evaluation, Arithmetic):
                operands = claim.evaluation.operands
                result = audit(
                    claim.evaluation.formula, operands, Operand(claim=claim.id), catalog.claims
                )
                assert result.consistent, result.sentence


@pytest.fixture(scope="module")
def no_claims() -> dict[str, list[tuple[str, str]]]:
    """(lines, reason) of every row of the page's tables of what is no claim, by source."""
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8").split("\n## assay:")[0]
    sections = re.split(r"^### (\w+):.*$", page, flags=re.MULTILINE)[1:]
    row = re.compile(r"^\| (\d[\d, ]*) \|.*\| ([^|]+) \|$", re.MULTILINE)
    return {
        name: row.findall(body) for name, body in zip(sections[::2], sections[1::2], strict=True)
    }


class TestPage:
    """docs/claims.md: what is no claim of a document, and why."""

    def test_there_is_a_table_a_document(
        self, catalog: Catalog, no_claims: dict[str, list[tuple[str, str]]]
    ) -> None:
        assert [*no_claims] == [name for name in catalog.sources if name != "assay"]
        assert all(no_claims.values())

    def test_each_row_has_its_lines_in_order_and_a_reason(
        self, no_claims: dict[str, list[tuple[str, str]]]
    ) -> None:
        for cell, reason in itertools.chain(*no_claims.values()):
            lines = [int(line) for line in cell.split(", ")]
            assert lines == sorted(set(lines)), cell
            assert len(reason) >= 7, cell

    def test_an_audit_that_it_names_is_one(
        self, catalog: Catalog, no_claims: dict[str, list[tuple[str, str]]]
    ) -> None:
        for source, rows in no_claims.items():
            audits = {audit.id for audit in catalog.sources[source].audits}
            named = re.findall(r"\bs\d+_audit_\w+", " ".join(reason for _, reason in rows))
            assert set(named) <= audits


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


def _program(data: dict[str, Any]) -> dict[str, Any]:
    return next(c for c in data["claims"] if c["evaluation"]["kind"] == "program")


DEFECTS: dict[str, tuple[str, Edit, tuple[str, ...]]] = {
    "unknown key in a claim": ("002", lambda d: _first(d).update(speed=1), ("claims.0.speed",)),
    "unknown key in the file": ("002", lambda d: d.update(extra=1), ("extra",)),
    "unknown key in an evaluation": (
        "002",
        lambda d: _first(d)["evaluation"].update(arm="stage0"),
        ("claims.0.evaluation.arm: there is no such key",),
    ),
    "a value that is not a number": (
        "002",
        lambda d: _first(d).update(value=float("nan")),
        ("line ", "no finite number"),
    ),
    "an infinite value": (
        "002",
        lambda d: _first(d).update(value=float("inf")),
        ("line ", "no finite number"),
    ),
    "a negative value": (
        "002",
        lambda d: _first(d).update(value=-1.0),
        ("claims.0.value", "greater than or equal to 0"),
    ),
    "a boolean value": ("002", lambda d: _first(d).update(value=True), ("claims.0.value",)),
    "a value that is no figure": (
        "002",
        lambda d: _first(d).update(value="about 111"),
        ("claims.0.value",),
    ),
    "a negative resolution": (
        "002",
        lambda d: _first(d).update(resolution=-0.1),
        ("claims.0.resolution",),
    ),
    "a resolution of 0 for a rounded figure": (
        "002",
        lambda d: _first(d).update(resolution=0),
        ("claims.0", "resolution 0 is for counts and for bounds"),
    ),
    "a rate of 0": (
        "002",
        lambda d: _first(d).update(value=0),
        ("claims.0", "value 0 cannot be a figure in TFLOP/s"),
    ),
    "a latency of 0": (
        "003",
        lambda d: next(c for c in d["claims"] if c["unit"] == "ms").update(value=0),
        ("claims.", "value 0 cannot be a figure in ms"),
    ),
    "no value but a unit": (
        "002",
        lambda d: _first(d).update(value=None),
        ("claims.0", "value, unit and resolution"),
    ),
    "an unknown unit": (
        "002",
        lambda d: _first(d).update(unit="tflip"),
        ("claims.0.unit", "did you mean"),
    ),
    "a unit that does not fit its metric": (
        "002",
        lambda d: _first(d).update(unit="ms"),
        ("claims.0", "unit ms does not fit metric rate"),
    ),
    "a rate without a FLOP formula": (
        "002",
        lambda d: _first(d).pop("flop_formula"),
        ("claims.0", "flop_formula"),
    ),
    "a ratio without its baseline arm": (
        "002",
        lambda d: _of(d, "s002_tma_no_gain")["evaluation"]["terms"][0].pop("over"),
        ("claims.", "names in over"),
    ),
    "a support statement with a value": (
        "004",
        lambda d: _of(d, "s004_tma_sm89").update(value=1, unit="count", resolution=0),
        ("claims.", "support statement carries no value"),
    ),
    "line 0": ("002", lambda d: _first(d)["place"].update(line=0), ("claims.0.place.line",)),
    "an unsafe id": ("002", lambda d: _first(d).update(id="../up"), ("claims.0.id",)),
    "a short digest": ("002", lambda d: d["source"].update(sha256="abc"), ("source.sha256",)),
    "an unknown schema": ("002", lambda d: d.update(schema="assay/claims/9"), ("schema",)),
    "an operand that is claim and literal": (
        "002",
        lambda d: d["audits"][0]["operands"][0].update(value=1.0, resolution=0, what="one"),
        ("audits.0.operands.0", "either a claim or a value"),
    ),
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
    "an id that the same file has": (
        "002",
        lambda d: _first(d).update(id="s002_phase1"),
        ("'s002_phase1' is given twice",),
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
    "an unknown arm among the alternatives": (
        "002",
        lambda d: _first(d)["evaluation"]["alternatives"][0]["term"].update(arm="stage9"),
        ("claim 's002_baseline'", "'stage9'"),
    ),
    "an unknown program": (
        "001",
        lambda d: _program(d)["evaluation"].update(program="cutlass_example_99"),
        ("claim 's001_fmha_cooperative_s1024'", "no program 'cutlass_example_99'"),
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
    "an unknown nearest claim": (
        "003",
        lambda d: _of(d, "s003_memory_bandwidth")["evaluation"].update(nearest=["s003_no_such"]),
        ("claim 's003_memory_bandwidth'", "no claim 's003_no_such'"),
    ),
    "an unknown operand": (
        "002",
        lambda d: d["audits"][0]["operands"][0].update(claim="s002_no_such"),
        ("audit 's002_audit_margin'", "no claim 's002_no_such'"),
    ),
    "an unknown operand inside a formula": (
        "002",
        lambda d: d["audits"][0]["operands"].__setitem__(
            0, {"formula": "sum", "operands": [{"claim": "s002_no_such"}]}
        ),
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
    "an unknown arm beside a build": (
        "004",
        lambda d: _of(d, "s004_fa2_sm89")["evaluation"]["nearest"][0]["term"].update(arm="fa9"),
        ("claim 's004_fa2_sm89'", "'fa9'"),
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

    def test_the_copy_is_good_as_it_is(self, tree: Path) -> None:
        assert sorted(load_catalog(tree).sources) == SOURCES

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

    def test_a_key_given_twice_is_named_with_its_line(self, tree: Path) -> None:
        path = tree / "config" / "claims" / "assay.yaml"
        text = path.read_text(encoding="utf-8")
        assert text.count("    value: 0.62\n") == 1
        path.write_text(text.replace("    value: 0.62\n", "    value: 0.62\n    value: 0.6\n"))
        sentence = _refusal(tree)
        number = text[: text.index("    value: 0.62\n")].count("\n") + 2
        assert "assay.yaml" in sentence
        assert f"line {number}: key 'value' is given twice" in sentence

    def test_text_that_is_no_yaml_is_named(self, tree: Path) -> None:
        (tree / "config" / "claims" / "assay.yaml").write_text("claims: [")
        assert re.search(r"assay.yaml: line [0-9]+: not valid YAML", _refusal(tree))

    def test_a_folder_without_claims_is_named(self, tree: Path) -> None:
        for path in (tree / "config" / "claims").glob("*.yaml"):
            path.unlink()
        assert "holds no .yaml file" in _refusal(tree)

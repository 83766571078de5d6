"""Tuning as data: what a choice may say, which one runs a problem, when its sweep is planned."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.tuning import choices_to_hold
from assay.pipeline.plan import make_plan
from assay.pipeline.planned_builds import find_work
from assay.records.plan import Plan, Request
from assay.records.tuning import ShapeClass, TuningChoice, TuningFile, TuningSweep
from assay.shared.kernel_choice import Problem, choose
from tests.report_fixtures import (
    choice,
    make_request,
    provision,
    tuning_sweep,
    write_repository,
    write_tuning,
)

ROOT = Path(__file__).resolve().parents[2]


def table(choices: Iterable[TuningChoice]) -> list[dict[str, Any]]:
    """Choices as an index of kernels carries them."""
    return [made.model_dump(mode="json") for made in choices]


def file_of(*choices: TuningChoice) -> TuningFile:
    return TuningFile(schema="assay/tuning/1", choices=choices)


class TestShapeClasses:
    """Two choices never compete for one problem."""

    @pytest.mark.parametrize(
        ("first", "second", "meet"),
        [
            ({"n_most": 1024}, {"n_least": 1025}, False),
            ({"n_most": 1024}, {"n_least": 1024}, True),
            ({"ragged": True}, {"ragged": False}, False),
            ({"ragged": True}, {}, True),
            ({"blocks_most": 7.5}, {"blocks_least": 8.0}, False),
            ({"blocks_most": 7.5, "n_most": 64}, {"n_least": 65}, False),
        ],
    )
    def test_overlap_is_seen_from_both_sides(
        self, first: dict[str, Any], second: dict[str, Any], meet: bool
    ) -> None:
        one, other = ShapeClass(**first), ShapeClass(**second)
        assert (one.meets(other), other.meets(one)) == (meet, meet)

    def test_a_class_that_holds_nothing_is_refused(self) -> None:
        with pytest.raises(ValidationError, match="from 10 to 5 holds nothing"):
            ShapeClass(n_least=10, n_most=5)

    def test_overlapping_choices_are_refused(self) -> None:
        with pytest.raises(ValidationError, match="'demo_choice' and 'b' are for the same shapes"):
            file_of(choice(), choice(id="b", shapes={"ragged": True}))

    def test_choices_for_other_types_do_not_compete(self) -> None:
        assert len(file_of(choice(), choice(id="b", dtype="bfloat16")).choices) == 2

    def test_an_id_is_given_once(self) -> None:
        with pytest.raises(ValidationError, match="'demo_choice' is made twice"):
            file_of(choice(), choice(target="l4"))


class TestChoose:
    """The configuration for a problem, from plain mappings."""

    CHOICES = table(
        [
            choice(id="narrow", variant="small", shapes={"n_most": 2048, "ragged": False}),
            choice(id="wide", variant="large", shapes={"n_least": 2049, "ragged": False}),
            choice(id="ragged", variant="even", shapes={"ragged": True, "blocks_least": 4}),
        ]
    )

    @staticmethod
    def problem(**changes: Any) -> Problem:
        values: dict[str, Any] = {
            "target": "h100", "operation": "bsr_gemm", "dtype": "float16", "block_rows": 128,
            "block_cols": 128, "n": 1024,
        }  # fmt: skip
        return Problem(**{**values, **changes})

    @pytest.mark.parametrize(
        ("changes", "variant"),
        [
            ({}, "small"),
            ({"n": 2048}, "small"),
            ({"n": 2049}, "large"),
            ({"ragged": True}, "even"),
            ({"ragged": True, "blocks_per_row": 4}, "even"),
            ({"ragged": True, "blocks_per_row": 3.9}, None),
            ({"dtype": "bfloat16"}, None),
            ({"block_cols": 64}, None),
            ({"target": "l4"}, None),
            ({"operation": "bsr_bsr_gemm"}, None),
        ],
    )
    def test_the_class_decides(self, changes: dict[str, Any], variant: str | None) -> None:
        assert choose(self.CHOICES, self.problem(**changes)) == variant

    def test_plain_mappings_are_what_json_carries(self) -> None:
        assert self.CHOICES[0]["operation"] == "bsr_gemm"
        assert type(self.CHOICES[0]["operation"]) is str


class TestCatalog:
    """A choice that does not fit the rest of the configuration stops the run with a sentence."""

    @staticmethod
    def load(tmp_path: Path, **changes: Any) -> Catalog:
        root = write_repository(tmp_path / "repo")
        write_tuning(root, choice(**changes))
        return load_catalog(root)

    def test_a_fitting_choice_is_read(self, tmp_path: Path) -> None:
        assert self.load(tmp_path).tuning.of("h100") == (choice(),)

    def test_evidence_from_before_tuning_has_no_choices(self, tmp_path: Path) -> None:
        assert load_catalog(write_repository(tmp_path)).tuning.choices == ()

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"target": "b200"}, "there is no target 'b200'"),
            ({"variant": "demo_bk128"}, "there is no variant 'demo_bk128'"),
            (
                {"evidence": {"comparison": "no_sweep", "arm": "bk96"}},
                "there is no comparison 'no_sweep'",
            ),
            (
                {"evidence": {"comparison": "demo_sweep", "arm": "bk128"}},
                "there is no arm of 'demo_sweep' 'bk128'",
            ),
            (
                {"variant": "demo_bk64"},
                "arm 'bk96' of 'demo_sweep' is variant 'demo_bk96', not 'demo_bk64'",
            ),
            ({"dtype": "bfloat16"}, "taken on 'demo_bsr', which is bsr_gemm in float16"),
            ({"block_cols": 64}, "taken on 'demo_bsr', which has blocks of 128x128"),
            ({"shapes": {"n_most": 2048}}, "'demo_bsr', which lies outside its shape class"),
            ({"shapes": {"ragged": True}}, "'demo_bsr', which lies outside its shape class"),
        ],
    )
    def test_what_does_not_fit_is_named(
        self, tmp_path: Path, changes: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(BadInput, match=r"^tuning\.yaml: choice 'demo_choice'") as error:
            self.load(tmp_path, **changes)
        assert sentence in str(error.value)


class TestSweeps:
    """What a target begins with where nobody has chosen yet."""

    @staticmethod
    def load(tmp_path: Path, *sweeps: TuningSweep, choices: Sequence[TuningChoice] = ()) -> Catalog:
        root = write_repository(tmp_path / "repo")
        write_tuning(root, *choices, sweeps=sweeps)
        return load_catalog(root)

    def test_one_begins_with_an_arm_and_its_problem(self, tmp_path: Path) -> None:
        (begun,) = choices_to_hold(self.load(tmp_path, tuning_sweep("bk64")), "h100")
        assert begun.id == "h100_demo"
        assert begun.variant == "demo_bk64"
        assert begun.key() == choice().key()

    def test_a_choice_that_is_made_stands_for_its_class(self, tmp_path: Path) -> None:
        narrow = tuning_sweep("bk64", id="narrow", shapes={"n_least": 4096})
        wide = choice(shapes={"n_most": 8192})
        catalog = self.load(tmp_path, narrow, choices=[wide])
        assert choices_to_hold(catalog, "h100") == (wide,)

    def test_other_architectures_are_left_out(self, tmp_path: Path) -> None:
        catalog = self.load(tmp_path, tuning_sweep(archs=["sm_89"]))
        assert choices_to_hold(catalog, "h100") == ()

    def test_only_tuning_measures_sweeps_that_no_choice_rests_on(self, tmp_path: Path) -> None:
        catalog = self.load(tmp_path, tuning_sweep())
        swept = [
            find_work(catalog, (), ("h100",), tuning=tuning).swept["h100"]
            for tuning in (True, False)
        ]
        assert swept == [{"demo_sweep"}, set()]

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"arm": "bk128"}, "there is no arm of 'demo_sweep' 'bk128'"),
            ({"shapes": {"ragged": True}}, "'demo_bsr', which lies outside its shape class"),
            (
                {"begin": {"comparison": "no_sweep", "arm": "bk96"}},
                "there is no comparison 'no_sweep'",
            ),
        ],
    )
    def test_what_does_not_fit_is_named(
        self, tmp_path: Path, changes: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(BadInput, match=r"^tuning\.yaml: sweep 'demo'") as error:
            self.load(tmp_path, tuning_sweep(**changes))
        assert sentence in str(error.value)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


class TestRealChoices:
    """config/tuning.yaml of this repository."""

    def test_every_product_of_the_operators_is_tuned(self, catalog: Catalog) -> None:
        products = {
            (entry.operation, entry.dtype, entry.block_rows, entry.block_cols)
            for entry in choices_to_hold(catalog, "h200")
        }
        offered = {
            (catalog.variants[each.variant].operation, each.dtype, *each.block)
            for each in catalog.operators
            if each.head_dim is None and "sm_90a" in catalog.variants[each.variant].archs
        }
        assert products == offered

    def test_every_sweep_of_tuning_yaml_is_one(self, catalog: Catalog) -> None:
        named = {entry.begin.comparison for entry in catalog.tuning.sweeps}
        assert {entry.evidence.comparison for entry in catalog.tuning.choices} <= named
        sweeps = {name for name, entry in catalog.comparisons.items() if entry.protocol == "sweep"}
        assert sweeps <= named

    def test_arms_of_a_sweep_run_one_problem_and_differ(self, catalog: Catalog) -> None:
        for entry in catalog.comparisons.values():
            if entry.protocol == "sweep":
                assert len({arm.workload for arm in entry.arms}) == 1
                variants = [catalog.variants[arm.variant] for arm in entry.arms]
                assert len({tuple(sorted(v.defines.items())) for v in variants}) == len(variants)

    @pytest.mark.parametrize("ragged", [False, True])
    @pytest.mark.parametrize("n", [8, 1024, 2048, 2049, 16384])
    def test_fp16_on_an_h100_always_has_a_configuration(
        self, catalog: Catalog, n: int, ragged: bool
    ) -> None:
        problem = Problem("h100", "bsr_gemm", "float16", 128, 128, n, ragged=ragged)
        variant = choose(table(catalog.tuning.choices), problem)
        assert variant in catalog.variants


class TestPlan:
    """Sweeps are measured for this project's own statements, on the targets they tune."""

    @staticmethod
    def plan(catalog: Catalog, sources: Sequence[str], *, tuning: bool = False) -> Plan:
        provisions = [provision("h100"), provision("l4")]
        request: Request = make_request("tuned", provisions, sources)
        return make_plan(catalog, request.model_copy(update={"tuning": tuning}))

    @staticmethod
    def sweeps(plan: Plan, target: str) -> set[str]:
        found = next(entry for entry in plan.targets if entry.target == target)
        return {name for name in found.comparisons if name.startswith("bsr_gemm_tuning")}

    def test_other_sources_do_not_pay_for_them(self, catalog: Catalog) -> None:
        plan = self.plan(catalog, ["003"])
        assert self.sweeps(plan, "h100") == set()
        assert not [job for job in plan.builds if job.id == "bsr_gemm_wgmma_g64"]

    def test_own_statements_bring_them_to_their_target_alone(self, catalog: Catalog) -> None:
        plan = self.plan(catalog, ["003", "assay"])
        wanted = {entry.evidence.comparison for entry in catalog.tuning.of("h100")}
        assert self.sweeps(plan, "h100") == wanted
        assert self.sweeps(plan, "l4") == set()
        assert [job.arch for job in plan.builds if job.id == "bsr_gemm_wgmma_g64"] == ["sm_90a"]

    def test_sweeps_come_beside_a_single_claim_where_they_are_asked_for(
        self, catalog: Catalog
    ) -> None:
        request: Request = make_request("tuned", [provision("h100"), provision("l4")], ["003"])
        claim = next(iter(catalog.claims_of(["003"], ()))).id
        alone = request.model_copy(update={"claims": (claim,)})
        with_sweeps = alone.model_copy(update={"tuning": True})
        assert self.sweeps(make_plan(catalog, alone), "h100") == set()
        plan = make_plan(catalog, with_sweeps)
        every = {choice.evidence.comparison for choice in choices_to_hold(catalog, "h100")}
        assert self.sweeps(plan, "h100") == {n for n in every if n.startswith("bsr_gemm_tuning")}
        assert plan.claims == (claim,)

    def test_tune_plans_sweeps_and_nothing_else(self, catalog: Catalog) -> None:
        plan = self.plan(catalog, [], tuning=True)
        assert plan.answers == ()
        by_target = {entry.target: entry for entry in plan.targets}
        for target in ("h100", "l4"):
            wanted = {entry.evidence.comparison for entry in choices_to_hold(catalog, target)}
            assert set(by_target[target].comparisons) == wanted
            assert by_target[target].programs == ()

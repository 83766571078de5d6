"""Tuning as data: what a choice may say, which one runs a problem, when its sweep is planned."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.catalog.model import Catalog
from assay.pipeline.plan import make_plan
from assay.records.plan import Plan
from assay.records.rivals import TuningChoice
from assay.shared.kernel_choice import Problem, choose
from tests.report_fixtures import choice, make_request, provision

ROOT = Path(__file__).resolve().parents[2]


def table(choices: Iterable[TuningChoice]) -> list[dict[str, Any]]:
    return [made.model_dump(mode="json") for made in choices]


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
            ({"n": 2049}, "large"),
            ({"ragged": True}, "even"),
            ({"ragged": True, "blocks_per_row": 4}, "even"),
            ({"ragged": True, "blocks_per_row": 3.9}, None),
            ({"dtype": "bfloat16"}, None),
            ({"target": "l4"}, None),
        ],
    )
    def test_the_class_decides(self, changes: dict[str, Any], variant: str | None) -> None:
        assert choose(self.CHOICES, self.problem(**changes)) == variant


def test_every_product_of_the_operators_is_tuned(catalog: Catalog) -> None:
    """config/tuning.yaml of this repository."""
    products = {
        (entry.operation, entry.dtype, entry.block_rows, entry.block_cols)
        for entry in catalog.choices_to_hold("h200")
    }
    offered = {
        (catalog.variants[each.variant].operation, each.dtype, *each.block)
        for each in catalog.operators
        if each.head_dim is None and "sm_90a" in catalog.variants[each.variant].archs
    }
    assert products == offered


class TestPlan:
    """Sweeps are measured for this project's own statements, on the targets they tune."""

    @staticmethod
    def plan(catalog: Catalog, sources: Sequence[str]) -> Plan:
        provisions = [provision("h100"), provision("l4")]
        return make_plan(catalog, make_request("tuned", provisions, sources))

    @staticmethod
    def sweeps(plan: Plan, target: str) -> set[str]:
        found = next(entry for entry in plan.targets if entry.target == target)
        return {name for name in found.comparisons if name.startswith("bsr_gemm_tuning")}

    def test_beside_a_single_claim_they_come_where_they_are_asked_for(self, catalog):
        claim = next(iter(catalog.claims_of(["003"], ()))).id
        request = make_request("tuned", [provision("h100")], ["003"])
        alone = request.model_copy(update={"claims": (claim,)})
        assert self.sweeps(make_plan(catalog, alone), "h100") == set()
        plan = make_plan(catalog, alone.model_copy(update={"tuning": True}))
        every = {choice.evidence.comparison for choice in catalog.choices_to_hold("h100")}
        assert self.sweeps(plan, "h100") == {n for n in every if n.startswith("bsr_gemm_tuning")}

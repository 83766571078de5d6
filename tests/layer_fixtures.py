"""A measurement of linear layers that nobody made: this repository's comparisons, made-up times."""

from collections.abc import Mapping
from pathlib import Path

from assay.catalog.load import load_catalog
from assay.evidence.model import Evidence
from assay.judging.case import Case
from assay.records.measurements import ArmFacts, BenchmarkRecord, CorrectnessRecord
from assay.records.workloads import Arm
from tests import builders as b

ROOT = Path(__file__).resolve().parents[1]
FEW, MANY = "layers_few_tokens", "layers_many_tokens"
DENSE_MS = {1: 0.010, 64: 0.011, 1024: 0.060, 8192: 0.450}
SPEEDUPS = {50: 0.8, 75: 2.0, 91: 4.0}
"""By per cent of zeros, for 1024 tokens; of 8192 half as much again, of fewer a half."""


def layers_case(left_out: frozenset[str] = frozenset(), target: str = "h200") -> Case:
    """Return both comparisons as one target measured them; arms ``left_out`` were wrong."""
    catalog = load_catalog(ROOT)
    checks, benchmarks = [], []
    for name in (FEW, MANY):
        times = {arm.id: launch_ms(arm.id) for arm in catalog.comparisons[name].arms}
        facts = {arm.id: _facts(arm) for arm in catalog.comparisons[name].arms}
        checks.append(_checked(name, target, facts, left_out))
        benchmarks.append(_timed(name, target, times, facts))
    evidence: Evidence = b.evidence([], checks=checks, benchmarks=benchmarks)
    return Case(catalog, evidence)


def _facts(arm: Arm) -> ArmFacts:
    """Return facts of an arm, with so little work that no time is too short for it."""
    changes = {"arm": arm.id, "variant": arm.variant, "workload": arm.workload}
    return b.facts("rival").model_copy(update={**changes, "flop": 1, "bytes": 1})


def launch_ms(arm: str) -> float:
    """Return the made-up time of an arm, by its name: ``s75_4096_t1024``."""
    kind, _, tokens = arm.split("_")
    number = int(tokens.removeprefix("t"))
    dense = DENSE_MS[number]
    if kind == "dense":
        return dense
    factor = {1: 0.5, 64: 0.5, 1024: 1.0, 8192: 1.5}[number]
    return dense / (factor * SPEEDUPS[int(kind.removeprefix("s"))])


def _checked(
    name: str, target: str, facts: Mapping[str, ArmFacts], wrong: frozenset[str]
) -> CorrectnessRecord:
    record = b.correctness(("ours",), comparison=name, on=target)
    (known,) = record.arms
    arms = tuple(
        known.model_copy(
            update={
                "arm": arm,
                "variant": each.variant,
                "workload": each.workload,
                "binary_sha256": None,
                "status": "incorrect" if arm in wrong else "correct",
            }
        )
        for arm, each in facts.items()
    )
    return record.model_copy(update={"arms": arms})


def _timed(
    name: str, target: str, times: Mapping[str, float], facts: Mapping[str, ArmFacts]
) -> BenchmarkRecord:
    """Return samples by the short turns of these comparisons."""
    record = b.benchmark(
        times, comparison=name, control=next(iter(times)), on=target, arm_facts=facts
    )
    protocol = "layers_short" if name == FEW else "layers"
    return record.model_copy(update={"protocol": protocol})

"""Figures that arithmetic contradicts: peaks of targets, audits."""

import json
from typing import Any

import pytest

from assay.catalog.model import Catalog
from assay.judging.impossible_figures import impossible_claims, impossible_figures, uncomputable
from assay.records.arithmetic import Formula, Operand, SourcePlace
from assay.records.claims import Audit, Claim, Hardware
from assay.records.evaluations import (
    Arithmetic,
    Benchmark,
    FlopFormula,
    Invocation,
    Program,
    Reading,
)
from assay.records.units import Unit
from assay.records.workloads import Workload
from tests import builders as b

PLACE = SourcePlace(section="Results", line=1)


def callable_workload(**changes: Any) -> Workload:
    values: dict[str, Any] = {
        "id": "dense", "operation": "callable", "dtype": "float16", "distribution": "own",
        "seed": 1, "code": {"file": "a.py", "function": "case", "files": {"a.py": "0" * 64}},
        "parameters": {"rows": 8192}, "flops": "rows", "bytes": "rows * 8192 * 4",
        "relative_tolerance": 1e-3,
    }  # fmt: skip
    return Workload.model_validate_json(json.dumps(values | changes))


def catalog(*claims: Claim, audits: tuple[Audit, ...] = (), **changes: Any) -> Catalog:
    return b.catalog(claims, audits, **changes)


def timed(metric: str, arm: str = "rival", over: str | None = None) -> Benchmark:
    terms = [{"comparison": "duel", "arm": arm, "over": over}]
    content = {"kind": "benchmark", "metric": metric, "terms": terms}
    return Benchmark.model_validate_json(json.dumps(content))


def figure(value: float, unit: Unit, name: str = "x", **changes: Any) -> Claim:
    metric = {Unit.MS: "time", Unit.GB_PER_S: "bandwidth"}.get(unit, "rate")
    evaluation = changes.pop("evaluation", None) or timed(metric)
    values = {"value": value, "unit": unit, "resolution": 0.1, "flop_formula": None}
    if metric == "rate":
        values["flop_formula"] = FlopFormula.UNSTATED
    return b.claim(name, evaluation, **{**values, **changes})


def flagged(found: Catalog) -> list[str]:
    return [each.of for each in impossible_claims(found)]


def with_bytes(formula: str) -> dict[str, Workload]:
    return {**b.workloads(), "dense": callable_workload(bytes=formula)}


class TestPeaks:
    """The builders' H100: 989.4 TFLOP/s in fp16, 3350 GB/s, an L2 cache of 50 MiB."""

    def test_what_the_source_leaves_open_may_make_it_possible(self) -> None:
        """0.1 ms are too short for the dense product, and long enough for the sparse one."""
        for arm, beyond in (("rival", ["x"]), ("ours", [])):
            choice = Reading(
                id="other", says="other", differs="unstated", evaluation=timed("time", arm)
            )
            claim = figure(0.1, Unit.MS, resolution=0.001, readings=(choice,), reading="dense")
            assert flagged(catalog(claim)) == beyond

    @pytest.mark.parametrize(("value", "beyond"), [(0.1, True), (0.15, False)])
    def test_a_duration_is_held_against_its_flop(self, value: float, beyond: bool) -> None:
        """137.4 GFLOP take 0.139 ms at the peak."""
        found = list(impossible_claims(catalog(figure(value, Unit.MS, resolution=0.001))))
        assert len(found) == beyond
        assert all(each.says.endswith("of 989.4 TFLOP/s (dense float16)") for each in found)

    def test_a_bandwidth_is_held_against_the_memory_only_beyond_the_cache(self) -> None:
        fast = figure(5000.0, Unit.GB_PER_S)
        (flaw,) = impossible_claims(catalog(fast, workloads=with_bytes("rows * 8192 * 4")))
        assert "beyond 3350 GB/s" in flaw.says
        assert flagged(catalog(fast, workloads=with_bytes("rows * 2048"))) == []
        slow = figure(3000.0, Unit.GB_PER_S)
        assert flagged(catalog(slow, workloads=with_bytes("rows * 8192 * 4"))) == []

    def test_what_counts_skipped_blocks_may_be_beyond_the_peak(self) -> None:
        """``sparse`` stores a quarter of its blocks: 1600 dense are 400 that are done."""
        rate = {"evaluation": timed("rate", "ours")}
        dense = figure(1600.0, Unit.TFLOP_PER_S, flop_formula=FlopFormula.DENSE, **rate)
        assert flagged(catalog(dense)) == []
        assert flagged(catalog(figure(1600.0, Unit.TFLOP_PER_S, **rate))) == ["x"]

    def test_what_is_for_another_product_is_not_held_against_its_stand_in(self) -> None:
        hardware = Hardware(target="h100", as_stated="B200", stand_in=True)
        assert flagged(catalog(figure(1600.0, Unit.TFLOP_PER_S, hardware=hardware))) == []

    @pytest.mark.parametrize(
        ("words", "fp8", "limit", "named"),
        [
            ("fp8", 1978.9, "1979 TFLOP/s", "dense float8"),
            ("fp8", None, "989.4 TFLOP/s", "dense float16"),
            ("", None, "989.4 TFLOP/s", "dense float16"),
            ("tf32", 1978.9, "494.7 TFLOP/s", "dense TF32"),
            ("bf16", None, "989.4 TFLOP/s", "dense float16"),
        ],
    )
    def test_a_peak_is_named_by_the_type_that_has_it(self, words, fp8, limit, named):
        configuration = {"inputs": words}
        claim = figure(
            9e4, Unit.TFLOP_PER_S, evaluation=b.unanswerable(), configuration=configuration
        )
        found = catalog(claim)
        target = found.targets["h100"]
        peaks = target.peaks.model_copy(update={"fp8_tensor_tflop_per_s": fp8})
        found.targets["h100"] = target.model_copy(update={"peaks": peaks})
        (flaw,) = impossible_claims(found)
        assert f"beyond {limit}, " in flaw.says
        assert flaw.says.endswith(f": its {named} peak")

    def test_a_program_counts_as_its_output_does(self) -> None:
        """Example 41 counts 1.26 times the FLOP of its products at this head size."""
        shape = {"batch_size": 1, "head_number": 8, "seq_length": 1024, "seq_length_kv": 1024,
                 "head_size": 64, "head_size_v": 64}  # fmt: skip
        for value, beyond in ((1200.0, []), (1300.0, ["x"])):
            evaluation = Program(
                kind="program",
                program="ex41",
                figure="gflop_per_s",
                typed=None,
                stated=Invocation(arguments=("--causal=false",), shape=shape),
            )
            counts = {"flop_formula": FlopFormula.CUTLASS_41_FULL, "evaluation": evaluation}
            claim = figure(value, Unit.TFLOP_PER_S, **counts)
            assert flagged(catalog(claim)) == beyond


class TestAudits:
    def audit(self, claimed: float, *operands: float) -> Audit:
        numbers = [Operand(value=each, resolution=1.0, what="a figure") for each in operands]
        return Audit(
            id="relation",
            statement="a ratio",
            place=PLACE,
            formula=Formula.QUOTIENT,
            operands=tuple(numbers),
            claimed=Operand(value=claimed, resolution=0.1, what="the ratio"),
        )

    def test_600_over_400_is_not_3(self) -> None:
        found = list(impossible_figures(catalog(audits=(self.audit(3.0, 600, 400),))))
        assert [each.of for each in found] == ["relation"]
        assert "600 / 400 = 1.5" in found[0].says
        assert list(impossible_figures(catalog(audits=(self.audit(1.5, 600, 400),)))) == []

    def test_a_claim_that_is_arithmetic(self) -> None:
        numbers = tuple(Operand(value=each, resolution=1, what="it") for each in (600.0, 400.0))
        evaluation = Arithmetic(kind="arithmetic", formula=Formula.QUOTIENT, operands=numbers)
        claim = b.claim("x", evaluation, value=3.0, unit=Unit.RATIO, resolution=0.1)
        assert [each.of for each in impossible_figures(catalog(claim))] == ["x"]

    def test_what_has_no_value_is_no_finding_and_says_why(self) -> None:
        found = catalog(audits=(self.audit(3.0, 600, 0),))
        assert list(impossible_figures(found)) == []
        assert [name for name, _ in uncomputable(found)] == ["relation"]

"""Block-sparse linear layers beside the same layers dense: how many times as fast, and where. Pure.

A dense layer is an arm that calls ``torch.nn.functional.linear``; the sparse ones of its comparison
have as many weights and tokens. Kernels that take tokens by the eight compute one as eight.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.judging.benchmark import measure_term
from assay.judging.case import Case, Measured
from assay.records.evaluations import Metric, Term
from assay.records.workloads import Arm, Comparison, Operation, Workload
from assay.statistics.summaries import Summary

DENSE = "torch_linear"
"""Variant.entry of the dense layer."""
TOKENS_AT_ONCE = 8
"""Of which a sparse layer computes a whole number."""


@dataclass(frozen=True)
class LayerPoint:
    """One sparse layer at one number of tokens."""

    out_features: int
    in_features: int
    tokens: int
    zero: float
    """Share of the weights that are not stored."""
    speedup: Summary
    """Time of the dense layer over that of the sparse one."""
    comparison: str
    arm: str

    @property
    def pays(self) -> bool:
        """Return whether the whole interval lies above 1."""
        return self.speedup.interval()[0] > 1


@dataclass(frozen=True)
class LayerRow:
    """One sparse layer at all numbers of tokens."""

    out_features: int
    in_features: int
    zero: float
    points: tuple[LayerPoint | None, ...]
    """By ``LayerTable.tokens``; None where it was not measured."""


@dataclass(frozen=True)
class LayerTable:
    """All layers that one target measured."""

    target: str
    tokens: tuple[int, ...]
    rows: tuple[LayerRow, ...]
    comparisons: tuple[str, ...]
    """Those that hold the samples."""

    def pays_from(self) -> dict[int, float | None]:
        """Return by number of tokens the least share of zeros from which on every layer measured
        pays; None where not even the sparsest does.
        """
        return {tokens: self._pays_from(place) for place, tokens in enumerate(self.tokens)}

    def _pays_from(self, place: int) -> float | None:
        least = None
        for zero in sorted({row.zero for row in self.rows}, reverse=True):
            points = (row.points[place] for row in self.rows if row.zero == zero)
            measured = [point for point in points if point is not None]
            if not all(point.pays for point in measured):
                break
            least = zero if measured else least
        return least


def layer_tables(case: Case) -> tuple[LayerTable, ...]:
    """Return a table a target that measured any layer, rows by size and share of zeros."""
    targets = dict.fromkeys(target for target, _ in case.evidence.benchmarks)
    found = ((target, tuple(_points(case, target))) for target in targets)
    return tuple(_table(target, points) for target, points in found if points)


def _table(target: str, points: tuple[LayerPoint, ...]) -> LayerTable:
    tokens = tuple(sorted({point.tokens for point in points}))
    by_layer: dict[tuple[int, int, float], dict[int, LayerPoint]] = {}
    for point in points:
        layer = point.out_features, point.in_features, point.zero
        by_layer.setdefault(layer, {})[point.tokens] = point
    return LayerTable(
        target=target,
        tokens=tokens,
        rows=tuple(
            LayerRow(*layer, tuple(by_layer[layer].get(number) for number in tokens))
            for layer in sorted(by_layer)
        ),
        comparisons=tuple(dict.fromkeys(point.comparison for point in points)),
    )


def _points(case: Case, target: str) -> Iterator[LayerPoint]:
    """Yield what passed the gates and has a ratio that counts."""
    for measured_on, name in case.evidence.benchmarks:
        comparison = case.catalog.comparisons[name]
        for arm, dense in _pairs(case, comparison) if measured_on == target else ():
            term = Term(comparison=name, arm=arm.id, over=dense.id)
            measured = measure_term(case, target, Metric.TIME_RATIO, term, None)
            if isinstance(measured, Measured) and measured.broken is None:
                sparse = case.catalog.workloads[arm.workload]
                tokens = case.catalog.workloads[dense.workload].n
                yield LayerPoint(
                    out_features=sparse.m or 0,
                    in_features=sparse.k or 0,
                    tokens=tokens or 0,
                    zero=_zero(sparse),
                    speedup=measured.summary,
                    comparison=name,
                    arm=arm.id,
                )


def _pairs(case: Case, comparison: Comparison) -> Iterator[tuple[Arm, Arm]]:
    """Yield each sparse layer of a comparison with the dense one that it stands in for."""
    workloads = case.catalog.workloads
    dense = {
        _layer(workloads[arm.workload]): arm
        for arm in comparison.arms
        if case.catalog.variants[arm.variant].entry == DENSE
    }
    for arm in comparison.arms:
        workload = workloads[arm.workload]
        if workload.operation is Operation.BSR_GEMM and _layer(workload) in dense:
            yield arm, dense[_layer(workload)]


def _layer(workload: Workload) -> tuple[int, int, int]:
    """Return (m, k, tokens as they are computed at once)."""
    tokens = -(-(workload.n or 0) // TOKENS_AT_ONCE) * TOKENS_AT_ONCE
    return workload.m or 0, workload.k or 0, tokens


def _zero(workload: Workload) -> float:
    pattern = workload.pattern
    assert pattern is not None, "a BSR product has stored blocks"
    across = -(-(workload.k or 1) // pattern.block_cols)
    return 1 - pattern.blocks_per_row / across

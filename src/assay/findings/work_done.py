"""The work that each reading of a claim counts, beside what its launch really does. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark, Metric
from assay.records.measurements import ArmFacts
from assay.records.readings import PRIMARY
from assay.records.verdicts import Verdict


@dataclass(frozen=True)
class WorkDone:
    """One launch, under one reading."""

    products: float | None
    """Products of blocks that it does; None where its record does not count them."""
    true_products: float | None
    """Those that it should do."""
    flop: int
    """What it does."""
    counted_flop: float | None
    """What the reading counts for it; None where that is not known."""

    @property
    def misses_products(self) -> bool:
        """Return whether it does fewer products of blocks than it should."""
        return (self.products or 0) < (self.true_products or 0)


def work_by_reading(catalog: Catalog, evidence: Evidence, verdict: Verdict) -> dict[str, WorkDone]:
    """Return the work of every reading of a verdict that is the rate of one benchmark arm."""
    claim = catalog.claims.get(verdict.claim)
    if claim is None or verdict.target is None:
        return {}
    ratios = {reading.id: reading.work_ratio for reading in verdict.readings}
    found = {}
    for name, evaluation in _rates(claim):
        term = evaluation.terms[0]
        record = evidence.benchmarks.get((verdict.target, term.comparison))
        facts = _facts(record.processes[0].arms if record else (), term.arm)
        if facts is None or name not in ratios:
            continue
        ratio = ratios[name]
        found[name] = WorkDone(
            products=facts.counts.get("products"),
            true_products=facts.counts.get("true_products"),
            flop=facts.flop,
            counted_flop=None if ratio is None else facts.flop * ratio,
        )
    return found


def _rates(claim: Claim) -> Iterator[tuple[str, Benchmark]]:
    every = [(PRIMARY, claim.evaluation), *((r.id, r.evaluation) for r in claim.all_readings())]
    for name, evaluation in every:
        if isinstance(evaluation, Benchmark) and evaluation.metric is Metric.RATE:
            yield name, evaluation


def _facts(arms: tuple[ArmFacts, ...], arm: str) -> ArmFacts | None:
    return next((facts for facts in arms if facts.arm == arm), None)

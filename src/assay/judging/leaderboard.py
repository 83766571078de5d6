"""Solutions and the references that they are held against, as leaderboards list them. Pure."""

from collections.abc import Iterable, Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.judging.case import significant
from assay.judging.printed_figures import to_base
from assay.records.evaluations import Benchmark, Term
from assay.records.measurements import BenchmarkRecord
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict
from assay.statistics.summaries import arm_time, median_ms

TIMED = "timed_run"
"""The check that an arm failed which passed the gate: a timed launch was wrong."""


def leaderboard_rows(
    catalog: Catalog, evidence: Evidence, verdicts: Iterable[Verdict]
) -> Iterator[dict[str, object]]:
    """Yield a row, by column, for each verdict on how many times as fast one arm is as another."""
    for verdict in verdicts:
        claim = catalog.claims.get(verdict.claim)
        asked = claim.evaluation if claim is not None else None
        if claim is None or claim.unit is None or claim.unit.base is not Unit.RATIO:
            continue
        if isinstance(asked, Benchmark) and len(asked.terms) == 1 and asked.terms[0].over:
            yield _row(catalog, evidence, verdict, claim.unit, asked.terms[0])


def _row(
    catalog: Catalog, evidence: Evidence, verdict: Verdict, unit: Unit, term: Term
) -> dict[str, object]:
    comparison = catalog.comparisons[term.comparison]
    variants = {arm.id: catalog.variants[arm.variant] for arm in comparison.arms}
    key, over = (verdict.target or "", term.comparison), term.over or ""
    figures = (verdict.measured, *(verdict.ci90 or (None, None)), verdict.claimed)
    measured, low, high, claimed = (
        to_base(each, unit)[0] if isinstance(each, float | int) else None for each in figures
    )
    workloads = {arm.id: catalog.workloads[arm.workload] for arm in comparison.arms}
    wrong, failed = verdict.status is Status.INCORRECT, _failed(evidence, key, term.arm)
    timed = None if wrong else _timed(evidence, key, term.arm)
    took = arm_time(timed, term.arm, catalog.judging) if timed else None
    low_ms, high_ms = map(significant, took.interval()) if took else (None, None)
    return {
        "problem": comparison.title,
        "solution": variants[term.arm].title,
        "reference": variants[over].title,
        "claim": verdict.claim,
        "target": verdict.target,
        "correct": "no" if wrong else "yes" if failed == [] else None,
        "solution_ms": _median(timed, term.arm),
        "solution_low_ms": low_ms,
        "solution_high_ms": high_ms,
        "reference_ms": _median(_timed(evidence, key, over), over),
        "speedup": measured,
        "low": low,
        "high": high,
        "claimed": claimed,
        "verdict": verdict.status.value,
        "cause": ", ".join(failed or [TIMED]) if wrong else verdict.reason or verdict.why,
        "submission": workloads[term.arm].parameters.get("submission"),
    }


def _failed(evidence: Evidence, key: tuple[str, str], arm: str) -> list[str] | None:
    """Return the checks that an arm failed; None where they did not come to an end."""
    gate, record = evidence.correctness.get(key), evidence.benchmarks.get(key)
    entry = next((each for each in gate.arms if each.arm == arm), None) if gate else None
    if entry is None or entry.status not in ("correct", "incorrect"):
        return None
    timed = [TIMED] if record is not None and arm in record.wrong else []
    return sorted({check.name for check in entry.checks if not check.passed}) + timed


def _timed(evidence: Evidence, key: tuple[str, str], arm: str) -> BenchmarkRecord | None:
    """Return the record with an arm's times; None where it failed a check, or was not timed."""
    return evidence.benchmarks.get(key) if _failed(evidence, key, arm) == [] else None


def _median(record: BenchmarkRecord | None, arm: str) -> float | None:
    """Return an arm's median time in ms."""
    found = median_ms(record, arm) if record else None
    return None if found is None else significant(found)

"""What the catalog holds, as rows that people and programs read."""

from collections.abc import Collection
from typing import Any

from assay.catalog.model import Catalog
from assay.records.claims import Audit, Claim, Formula, Unanswerable

Row = dict[str, Any]


def claim_rows(catalog: Catalog, sources: Collection[str] = ()) -> list[Row]:
    """Claims and audits of ``sources`` (all, when none is named), by source, in file order.

    A row's ``kind`` is ``claim`` for a printed figure or statement and ``audit`` for a relation
    between figures that the source does not print; both get a verdict under the id in ``claim``.
    """
    rows = []
    for source, file in catalog.sources.items():
        if sources and source not in sources:
            continue
        rows += [_claim(claim, source) for claim in file.claims]
        rows += [_audit(catalog, audit, source) for audit in file.audits]
    return rows


def _claim(claim: Claim, source: str) -> Row:
    evaluation = claim.evaluation
    answered: str = evaluation.kind
    if isinstance(evaluation, Unanswerable):
        answered = f"not_run: {evaluation.reason.value}"
    return {
        "kind": "claim",
        "claim": claim.id,
        "source": source,
        "section": claim.place.section,
        "line": claim.place.line,
        "statement": claim.statement,
        "value": claim.value,
        "unit": claim.unit.value if claim.unit else None,
        "relation": claim.relation.value,
        "target": claim.hardware.target,
        "answered_by": answered,
    }


def _audit(catalog: Catalog, audit: Audit, source: str) -> Row:
    printed = audit.claimed
    named = catalog.claims[printed.claim] if printed and printed.claim else None
    stated = named or printed
    return {
        "kind": "audit",
        "claim": audit.id,
        "source": source,
        "section": audit.place.section,
        "line": audit.place.line,
        "statement": audit.statement,
        "value": stated.value if stated else None,
        "unit": named.unit.value if named and named.unit else None,
        "relation": "greater" if audit.formula is Formula.GREATER else "equals",
        "target": None,
        "answered_by": "arithmetic",
    }

"""The claims and audits of the catalog, as rows that people and programs read."""

from collections.abc import Collection, Iterable
from typing import Any

from assay.base.errors import BadInput
from assay.catalog.model import Catalog
from assay.records.claims import (
    Audit,
    Claim,
)
from assay.records.evaluations import (
    Unanswerable,
)
from assay.records.verdicts import Status, Verdict

Row = dict[str, Any]
SEARCHED = ("claim", "statement", "section", "source")
"""Parts of a row that a search looks through."""


def claim_rows(
    catalog: Catalog, verdicts: Iterable[Verdict] = (), sources: Collection[str] = ()
) -> list[Row]:
    """Return claims and audits of ``sources`` (all, when none is named), by source, in file order.

    A row's ``kind`` is ``claim`` for a printed figure or statement and ``audit`` for a relation
    between figures that the source does not print; both get a verdict under the id in ``claim``.
    ``verdicts`` are told of the claims that they are about, one for each target.
    """
    rows = []
    for source, file in catalog.sources.items():
        if sources and source not in sources:
            continue
        rows += [_claim(claim, source) for claim in file.claims]
        rows += [_audit(catalog, audit, source) for audit in file.audits]
    told: dict[str, list[Row]] = {}
    for verdict in verdicts:
        told.setdefault(verdict.claim, []).append(
            {
                "target": verdict.target,
                "status": verdict.status.value,
                "reason": verdict.reason,
                "why": verdict.why and verdict.why.value,
                "as_if": verdict.as_if and verdict.as_if.value,
                "readings": [
                    {"id": reading.id, "holds": reading.holds} for reading in verdict.readings
                ],
            }
        )
    return [{**row, "verdicts": told.get(row["claim"], [])} for row in rows]


def statuses(names: Iterable[str]) -> set[str]:
    """``names`` as statuses of verdicts. Raises BadInput that names the known ones."""
    known = [status.value for status in Status]
    for name in names:
        if name not in known:
            raise BadInput(f"there is no status '{name}'; known: {', '.join(known)}")
    return set(names)


def matching(rows: Iterable[Row], wanted: Collection[str], text: str) -> list[Row]:
    """Rows with a verdict among ``wanted`` (any, where it is empty) that hold ``text`` somewhere.

    Upper and lower case are the same.
    """
    sought = text.casefold()
    return [
        row
        for row in rows
        if (not wanted or any(verdict["status"] in wanted for verdict in row["verdicts"]))
        and any(sought in str(row[part]).casefold() for part in SEARCHED)
    ]


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
        "page": claim.place.page,
        "statement": claim.statement,
        "value": claim.value,
        "to": claim.to,
        "about": claim.about,
        "unit": claim.unit.value if claim.unit else None,
        "computed": claim.computed,
        "relation": claim.relation.value,
        "target": claim.hardware.target,
        "targets": list(claim.hardware.targets),
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
        "page": audit.place.page,
        "statement": audit.statement,
        "value": stated.value if stated else None,
        "to": None,
        "about": False,
        "unit": named.unit.value if named and named.unit else None,
        "computed": None,
        "relation": "equals" if audit.formula.claims_a_figure else audit.formula.value,
        "target": None,
        "targets": [],
        "answered_by": "arithmetic",
    }

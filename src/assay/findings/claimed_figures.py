"""Claimed figures as their sources print them. Pure."""

from collections.abc import Callable, Mapping

from assay.judging.printed_figures import operand_text, resolve, show
from assay.records.claims import Audit, Claim, Relation
from assay.records.units import printed, with_unit

RELATIONS = {
    Relation.EQUALS.value: "",
    Relation.SAME.value: "= ",
    Relation.AT_LEAST.value: "≥ ",
    Relation.AT_MOST.value: "≤ ",
}
"""What stands before a claimed figure; nothing before one that an audit holds against others."""
COMPUTED = " (computed)"
"""What stands behind a figure that its source does not print itself."""


def claimed_figure(
    claimed: float | str | None,
    unit: str | None,
    relation: str = "",
    entry: Claim | Audit | None = None,
    claims: Mapping[str, Claim] | None = None,
    joined: Callable[[str, str | None], str] = with_unit,
) -> str:
    """Return a claimed figure with its relation and unit, or the words that stand for one.

    ``entry``: the claim, or the relation between figures of ``claims``, that it is the figure of:
    it has as many digits as its source prints; of any other all digits that it has are told. A
    range has both ends, and no relation before them.
    """
    if not isinstance(claimed, float):
        return claimed or ""
    claim = entry if isinstance(entry, Claim) else None
    operand = entry.claimed if isinstance(entry, Audit) else None
    digits = printed(claimed, None)
    if claim is not None and claim.value == claimed:
        digits = claim.as_printed
    elif operand is not None and claims is not None and resolve(operand, claims).value == claimed:
        digits = operand_text(operand, claims) if operand.formula is None else show(claimed)
    before = "" if claim and claim.to is not None else RELATIONS.get(relation, "")
    return f"{before}{joined(digits, unit)}{COMPUTED if claim and claim.computed else ''}"

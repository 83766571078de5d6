"""Claimed figures as their sources print them. Pure."""

from collections.abc import Mapping

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


def computed_mark(entry: Claim | Audit | None) -> str:
    """Return what stands behind a figure that its source does not print itself; else nothing."""
    return COMPUTED if isinstance(entry, Claim) and entry.computed else ""


def printed_digits(
    entry: Claim | Audit | None, claimed: float, claims: Mapping[str, Claim] | None = None
) -> str:
    """Return a claimed figure with as many digits as its source prints.

    ``entry``: the claim, or the relation between figures of ``claims``, that it is the figure of;
    of any other all digits that it has are told.
    """
    if isinstance(entry, Claim) and entry.value == claimed:
        return entry.as_printed
    operand = entry.claimed if isinstance(entry, Audit) else None
    if operand is not None and claims is not None and resolve(operand, claims).value == claimed:
        return operand_text(operand, claims) if operand.formula is None else show(claimed)
    return printed(claimed, None)


def claimed_figure(
    claimed: float | str | None,
    unit: str | None,
    relation: str = "",
    entry: Claim | Audit | None = None,
    claims: Mapping[str, Claim] | None = None,
) -> str:
    """Return a claimed figure with its relation and unit, or the words that stand for one."""
    if not isinstance(claimed, float):
        return claimed or ""
    figure = with_unit(printed_digits(entry, claimed, claims), unit)
    return f"{bound_mark(relation, entry)}{figure}{computed_mark(entry)}"


def bound_mark(relation: str, entry: Claim | Audit | None) -> str:
    """Return what stands before a claimed figure: nothing before a range, which has both ends."""
    two_ends = isinstance(entry, Claim) and entry.to is not None
    return "" if two_ends else RELATIONS.get(relation, "")

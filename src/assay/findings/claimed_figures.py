"""Claimed figures as their sources print them. Pure."""

from assay.records.claims import Claim, Relation
from assay.records.figure_words import number, printed, with_unit

RELATIONS = {
    Relation.EQUALS.value: "",
    Relation.SAME.value: "= ",
    Relation.AT_LEAST.value: "≥ ",
    Relation.AT_MOST.value: "≤ ",
}
"""What stands before a claimed figure; nothing before one that an audit holds against others."""
COMPUTED = " (computed)"


def computed_mark(claim: Claim | None) -> str:
    """Return what stands behind a figure that its source does not print itself; else nothing."""
    return COMPUTED if claim is not None and claim.computed else ""


def printed_digits(claim: Claim | None, claimed: float) -> str:
    """Return a claimed figure with as many digits as its source prints; ``claim``: its entry."""
    if claim is not None and claim.value == claimed:
        if claim.decimals is not None:
            return f"{claimed:.{claim.decimals}f}"
        return printed(claimed, claim.resolution)
    return number(claimed)


def claimed_figure(
    claimed: float | str | None, unit: str | None, relation: str = "", claim: Claim | None = None
) -> str:
    """Return a claimed figure with its relation and unit, or the words that stand for one."""
    if not isinstance(claimed, float):
        return claimed or ""
    figure = with_unit(printed_digits(claim, claimed), unit)
    return f"{RELATIONS.get(relation, '')}{figure}{computed_mark(claim)}"

"""What answers a claim, in words: a kernel on its problem, a program with its arguments. Pure."""

from assay.base.printable import shortened
from assay.catalog.model import Catalog
from assay.records.evaluations import Benchmark, Derived, Evaluation, Program, Term
from assay.shared.counting import counted

LONGEST = 240
"""Characters: two titles and their problems."""


def answered_by(catalog: Catalog, claim: str) -> str:
    """Return what a claim's figure is measured on; empty where a catalog measures nothing for it.

    Another version of a catalog may answer the same claim by another kernel, or on another problem.
    """
    return shortened(_answer(catalog, claim, frozenset()), LONGEST)


def _answer(catalog: Catalog, name: str, above: frozenset[str]) -> str:
    """``above``: claims that it is a part of, which no claim is of itself."""
    claim = catalog.claims.get(name)
    if claim is None or name in above:
        return ""
    evaluation = claim.evaluation
    if isinstance(evaluation, Derived):
        parts = (evaluation.numerator, evaluation.denominator)
        top, bottom = (_answer(catalog, part, above | {name}) for part in parts)
        return f"{top}, over {bottom}" if top and bottom else ""
    return _of(catalog, evaluation)


def _of(catalog: Catalog, evaluation: Evaluation) -> str:
    match evaluation:
        case Benchmark():
            first, *more = evaluation.terms
            worst = f", the worst of {counted(len(more) + 1, 'problem')}" if more else ""
            return f"{_term(catalog, first)}{worst}"
        case Program():
            title = catalog.programs[evaluation.program].title
            arguments = " ".join(evaluation.stated.arguments) or "no arguments"
            return f"“{title}” ({evaluation.figure}) with {arguments}"
    return ""


def _term(catalog: Catalog, term: Term) -> str:
    """Return an arm, and the one that it is held against, each by its title and its problem."""
    arms = {arm.id: arm for arm in catalog.comparisons[term.comparison].arms}
    named = [
        f"“{catalog.variants[arms[name].variant].title}” on {arms[name].workload}"
        for name in (term.arm, term.over)
        if name in arms
    ]
    return " over ".join(named)

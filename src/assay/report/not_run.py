"""Why published figures were not measured, in words: also whether another report measured them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.headline import Outcome, causes
from assay.findings.report_figures import question_of
from assay.records.verdicts import Why
from assay.shared.counting import agreeing

NOT_AS_STATED, NOWHERE = "no earlier report measured it as stated", "as stated in no earlier report"
"""Why what could have been measured was not, where all is from earlier reports; and in short."""
IN_OTHERS, OTHERS = "measured in other reports only, as the page tells", "in other reports only"
"""The same where other signed reports have a figure of each."""


@dataclass(frozen=True)
class IdleCause:
    """One cause for which something was not measured, and how many have it."""

    why: Why
    count: int
    short: str
    words: str


def idle_causes(
    catalog: Catalog, evidence: Evidence, idle: Sequence[Outcome]
) -> Iterator[IdleCause]:
    """Yield why what was not measured was not, the most frequent cause first."""
    taken_over = all(plan.provision.kind == "recorded" for plan in evidence.plan.targets)
    for why, count in causes(idle).items():
        short, words = why.short, why.words
        if why is Why.NOT_MEASURED and taken_over:
            of_it = [each for each in idle if each.why is why]
            short, words = _recorded_words(count, _measured_in_others(catalog, evidence, of_it))
        yield IdleCause(why, count, short, words)


def _recorded_words(count: int, others: int) -> tuple[str, str]:
    """Return why a run that takes all from earlier reports has no figure of ``count``, in short and
    in words; ``others``: how many of them other reports measured.
    """
    if not others:
        return NOWHERE, NOT_AS_STATED
    if others == count:
        return OTHERS, IN_OTHERS
    other = f"{others} of them {agreeing(others, 'was', 'were')} {IN_OTHERS}"
    return f"in no report taken over, {others} of them {OTHERS}", f"not taken over; {other}"


def _measured_in_others(catalog: Catalog, evidence: Evidence, idle: Sequence[Outcome]) -> int:
    """Return of how many another signed report has a figure, on whichever GPU, that answers what
    the claim asks today.
    """
    found = {
        (figure.claim, figure.question)
        for run in (evidence.other_runs.runs if evidence.other_runs else ())
        for figure in run.figures
    }
    return sum(
        any((row.claim, question_of(catalog, row.claim)) in found for row in each.rows)
        for each in idle
    )

"""The result of a run in some lines: what came out, why not, and what guards it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from assay.catalog.model import Catalog
from assay.cli.console import say
from assay.evidence.model import Evidence
from assay.findings.binary_matches import binary_matches
from assay.findings.block_quality import clocks_of
from assay.findings.guards import guards
from assay.findings.headline import FIGURES, headline_of, outcomes
from assay.findings.stopwatch_agreement import agreements
from assay.frames import turns
from assay.records.verdicts import Status, Verdict
from assay.report.first_screen import (
    apart_words,
    guard_words,
    headline_words,
)
from assay.report.not_run import idle_causes
from assay.report.project_stamp import project_stamp
from assay.shared.counting import agreeing, counted

MOST_REASONS = 12
"""Of what was not run, the reasons that are told; the page has all of them."""


def tell_figures(catalog: Catalog, evidence: Evidence, verdicts: Sequence[Verdict]) -> None:
    """Say the headline, why figures do not plainly hold, what is counted apart, and the guards."""
    counted_things = outcomes(catalog, verdicts)
    figures = headline_of(counted_things)
    if (stamp := project_stamp(catalog)) is not None:
        say(f"{stamp.title}: its claims are its signer's own, not Assay's: project {stamp.sha256}")
    say(headline_words(catalog, figures))
    if figures.causes:
        say("why not: " + ", ".join(f"{n} {cause.short}" for cause, n in figures.causes.items()))
    if figures.not_run and stamp is None:
        idle = [e for e in counted_things if e.kind == FIGURES and e.status is Status.NOT_RUN]
        told = (f"{each.count}: {each.words}" for each in idle_causes(catalog, evidence, idle))
        say("not run: " + "; ".join(told))
    if apart := "; ".join(apart_words(catalog, figures)):
        say(f"beside them: {apart}")
    if stamp is not None:
        for line in not_run_words(verdicts):
            say(line)
    agreed = tuple(agreements(evidence, clocks_of(turns(evidence.benchmarks.values()))))
    found = guards(catalog, evidence, binary_matches(catalog, evidence), agreed)
    say("guards: " + "; ".join(guard.words for guard in guard_words(found)))


def not_run_words(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield a line on each reason for which claims were not run, with their names."""
    why: dict[str, list[str]] = {}
    for each in verdicts:
        if each.status is Status.NOT_RUN:
            name = f"{each.claim} on {each.target}" if each.target else each.claim
            why.setdefault(each.explanation, []).append(name)
    for explanation, names in islice(why.items(), MOST_REASONS):
        yield f"not run: {', '.join(names)}: {explanation}"
    if (more := len(why) - MOST_REASONS) > 0:
        yield f"not run: {counted(more, 'reason')} more {agreeing(more, 'is', 'are')} on the page"

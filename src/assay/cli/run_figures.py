"""The result of a run in some lines: what came out, why not, and the claims that say most."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from assay.catalog.model import Catalog
from assay.cli.console import say
from assay.evidence.model import Evidence
from assay.findings.binary_matches import binary_matches
from assay.findings.headline import ELSEWHERE, FIGURES, KINDS, counts_of, outcomes
from assay.judging.counts import outcome, rows_by_claim
from assay.records.verdicts import Status, Verdict
from assay.report.checks import binaries_guard
from assay.report.claims import project_stamp
from assay.report.counts import told
from assay.report.first_screen import cause_chips, headline_words
from assay.report.story import story
from assay.report.verdict_text import claimed_text, lead_of, verdict_text
from assay.shared.counting import agreeing, counted

MOST_REASONS = 12  # of what was not run, the reasons that are told; the page has all of them
MOST_CLAIMS = 6  # claims that are shown; the page has all of them


def tell_figures(catalog: Catalog, evidence: Evidence, verdicts: Sequence[Verdict]) -> None:
    """Say the headline, why figures do not plainly hold, and what the chief claims came to."""
    counted_things = outcomes(catalog, verdicts)
    if (stamp := project_stamp(catalog)) is not None:
        say(f"{stamp.title}: its claims are its signer's own, not Assay's: project {stamp.sha256}")
    splits = counts_of(counted_things)
    say(headline_words(splits))
    if splits[ELSEWHERE].total:
        away = counted(splits[ELSEWHERE].total, *KINDS[ELSEWHERE])
        say(f"{away}: {told(splits[ELSEWHERE], ELSEWHERE)}")
    published = [each for each in counted_things if each.kind == FIGURES]
    idle = [each for each in published if each.status is Status.NOT_RUN]
    if why_not := cause_chips([each for each in published if each not in idle]):
        say("why not: " + "; ".join(f"{count}: {why.short}" for count, why, _ in why_not))
    if stamp is not None:
        for line in not_run_words(verdicts):
            say(line)
    elif idle:
        say("not run: " + "; ".join(f"{count}: {why.words}" for count, why, _ in cause_chips(idle)))
    if (binaries := binaries_guard(binary_matches(catalog, evidence))) is not None:
        say(f"builds: {binaries.words}")
    shown = telling(catalog, verdicts)
    for verdict in shown:
        say(claim_words(catalog, verdict))
    if (more := len(rows_by_claim(verdicts)) - len(shown)) > 0:
        left = counted(more, "more claim or audit", "more claims and audits")
        say(f"{left}: the report has all")


def telling(catalog: Catalog, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return each claim's verdict; of many those that say most, the findings' claims first."""
    rows = rows_by_claim(verdicts)
    names = list(rows)
    if len(names) > MOST_CLAIMS:
        stands = {name: outcome(lead_of(rows[name])) for name in names}
        names.sort(key=lambda n: (stands[n] is Status.NOT_RUN, stands[n].facts.severity))
        names = list(dict.fromkeys([*(each.rests_on for each in story(catalog, verdicts)), *names]))
    return [lead_of(rows[name]) for name in names[:MOST_CLAIMS]]


def claim_words(catalog: Catalog, verdict: Verdict) -> str:
    """Return a claim's id, what was claimed, what was measured where, and the verdict."""
    text = verdict_text(catalog, verdict)
    parts = [] if verdict.claimed is None else [f"claimed {claimed_text(catalog, verdict)}"]
    if verdict.measured is not None:
        word = "computed" if verdict.artifact == "arithmetic" else "measured"
        place = f" on {verdict.target}" if verdict.target else ""
        named = f" instead of {text.instead_of}" if text.instead_of else ""
        parts.append(f"{word} {text.measured}{place}{named}")
    cause = f" ({verdict.why.short})" if verdict.why else ""
    would = "would be " if text.instead_of else ""
    figures = f"{', '.join(parts)}: " if parts else ""
    return f"{verdict.claim}: {figures}{would}{text.status.word}{cause}"


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

"""The headline of a run, and everything else that a page counts: each thing once. Pure.

There is one rule of counting (``judging.counts``), and one list of what it gives, ``outcomes``. The
headline, its causes, the findings, the tables of counts and the lines of the table of claims all
count parts of that list, so that a number has one meaning wherever it stands.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from assay.catalog.model import Catalog
from assay.judging.counts import Outcome, Tally, counted_once, kind_of
from assay.records.report_figures import OutcomeCounts
from assay.records.verdicts import Status, Verdict, Why

FIGURES, ELSEWHERE = "figures", "elsewhere"
KINDS = {
    FIGURES: ("published speed figure", "published speed figures"),
    ELSEWHERE: (
        "figure measured on another GPU than its source names",
        "figures measured on another GPU than their sources name",
    ),
    "ratios": ("ratio of two published figures", "ratios of two published figures"),
    "own": ("own claim of this project", "own claims of this project"),
    "probes": (
        "compile probe or other statement",
        "compile probes and other statements",
    ),
    "relations": ("relation between printed figures", "relations between printed figures"),
    "assumed": ("relation under an assumption", "relations under an assumption"),
}
"""What a page counts, apart from each other: of one, of several."""
OF_WHAT = {
    FIGURES: KINDS[FIGURES],
    "own": ("figure that this project states", "figures that this project states"),
}
"""What the headline counts, and of a project that quotes no document."""
PAGE_KINDS = {"published": FIGURES, "arithmetic": "relations"}
"""Kinds of ``judging.counts`` that a page calls otherwise."""


def outcomes(catalog: Catalog, verdicts: Iterable[Verdict]) -> tuple[Outcome, ...]:
    """Return all that counts in a run, each thing once, in the order of the verdicts."""
    once = counted_once(catalog, verdicts)
    return tuple(replace(each, kind=PAGE_KINDS.get(each.kind, each.kind)) for each in once)


def page_kind(catalog: Catalog, verdict: Verdict) -> str:
    """Return what of ``KINDS`` a page counts a verdict as."""
    kind = kind_of(catalog, verdict)
    return PAGE_KINDS.get(kind, kind)


Counts = Mapping[str, OutcomeCounts]  # of each of ``KINDS`` how many came out how


def counts_of(counted: Iterable[Outcome]) -> dict[str, OutcomeCounts]:
    """Return how what counts in a run came out, kind by kind."""
    every = tuple(counted)
    return {kind: tallied(each for each in every if each.kind == kind) for kind in KINDS}


def headed(counts: Counts) -> str:
    """Return the kind that the headline counts, and a badge, which shows no more: published speed
    figures, or the signer's own claims where there are none.
    """
    there = {kind for kind, of in counts.items() if of.total}
    return "own" if "own" in there and FIGURES not in there else FIGURES


def tally(found: Iterable[Status]) -> Tally:
    """Return how many there are of each status, in the order of the statuses."""
    statuses = Counter(found)
    return {status: statuses[status] for status in Status if statuses[status]}


def tallied(counted: Iterable[Outcome]) -> OutcomeCounts:
    """Return how many came out how, and how many of them on another GPU than was named."""
    every = list(counted)
    away = (each.status for each in every if each.away and each.kind != ELSEWHERE)
    return OutcomeCounts(statuses=tally(each.status for each in every), away=tally(away))


def causes(counted: Iterable[Outcome]) -> dict[Why, int]:
    """Return how many have which cause, the most frequent first."""
    found = Counter(each.why for each in counted if each.why is not None)
    return dict(sorted(found.items(), key=lambda item: (-item[1], [*Why].index(item[0]))))

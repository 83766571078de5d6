"""The headline of a run, and everything else that a page counts: each thing once. Pure.

There is one rule of counting (``judging.counts``), and one list of what it gives, ``outcomes``. The
headline, its causes, the findings, the tables of counts and the lines of the table of claims all
count parts of that list, so that a number has one meaning wherever it stands.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from assay.catalog.model import Catalog
from assay.judging.counts import Outcome, Tally, counted_once, kind_of
from assay.records.report_figures import HeadlineCounts
from assay.records.verdicts import Status, Verdict, Why

FIGURES, ELSEWHERE = "figures", "elsewhere"
KINDS = {
    FIGURES: ("published speed figure", "published speed figures"),
    ELSEWHERE: (
        "figure measured on another GPU than its source names",
        "figures measured on another GPU than their sources name",
    ),
    "ratios": ("ratio of two such figures", "ratios of two such figures"),
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


@dataclass(frozen=True)
class Split:
    """How many came out how, and on which GPU."""

    statuses: Tally
    """Those measured elsewhere by what they would be on the hardware that their source names."""
    away: Tally
    """How many of each were measured on other hardware alone; none of a kind that is all such."""

    @property
    def total(self) -> int:
        """Return how many there are."""
        return sum(self.statuses.values())

    @property
    def elsewhere(self) -> int:
        """Return how many of them were measured on other hardware alone."""
        return sum(self.away.values())


def outcomes(catalog: Catalog, verdicts: Iterable[Verdict]) -> tuple[Outcome, ...]:
    """Return all that counts in a run, each thing once, in the order of the verdicts."""
    once = counted_once(catalog, verdicts)
    return tuple(replace(each, kind=PAGE_KINDS.get(each.kind, each.kind)) for each in once)


def page_kind(catalog: Catalog, verdict: Verdict) -> str:
    """Return what of ``KINDS`` a page counts a verdict as."""
    kind = kind_of(catalog, verdict)
    return PAGE_KINDS.get(kind, kind)


Splits = dict[str, Split]
"""Of each of ``KINDS`` how many came out how."""


def splits_of(counted: Iterable[Outcome]) -> Splits:
    """Return how what counts in a run came out, kind by kind."""
    every = tuple(counted)
    return {kind: split(each for each in every if each.kind == kind) for kind in KINDS}


def headed(splits: Splits) -> str:
    """Return the kind that the headline counts: published speed figures, or the signer's own claims
    where there are none.
    """
    return "own" if splits["own"].total and not splits[FIGURES].total else FIGURES


def headline_counts(catalog: Catalog, verdicts: Iterable[Verdict]) -> HeadlineCounts:
    """Return what a badge counts of a run, which shows no more of it than that: published speed
    figures, or the signer's own claims where it has none.
    """
    splits = splits_of(outcomes(catalog, verdicts))
    kind = headed(splits)
    shown = splits[kind]
    return HeadlineCounts(own=kind == "own", statuses=shown.statuses, away=shown.away)


def tally(found: Iterable[Status]) -> Tally:
    """Return how many there are of each status, in the order of the statuses."""
    statuses = Counter(found)
    return {status: statuses[status] for status in Status if statuses[status]}


def split(counted: Iterable[Outcome]) -> Split:
    """Return how many came out how, and how many of them on another GPU than was named."""
    every = list(counted)
    away = (each.status for each in every if each.away and each.kind != ELSEWHERE)
    return Split(tally(each.status for each in every), tally(away))


def causes(counted: Iterable[Outcome]) -> dict[Why, int]:
    """Return how many have which cause, the most frequent first."""
    found = Counter(each.why for each in counted if each.why is not None)
    return dict(sorted(found.items(), key=lambda item: (-item[1], [*Why].index(item[0]))))

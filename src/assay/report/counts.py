"""How a page counts: tallies in words, and how the lines of the table of claims count and filter.

A line has a facet for each thing that counts by it; the line of a claim that counts with another
has one, too, of a kind of its own. A choice of values shows as many facets as the number on which
the choice stands.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.findings.headline import ELSEWHERE, KINDS, tallied, tally
from assay.judging.counts import Outcome, outcome
from assay.records.report_figures import OutcomeCounts
from assay.records.verdicts import Status, Verdict, Why
from assay.report.formatting import Row
from assay.shared.counting import counted


def told(found: OutcomeCounts, kind: str = "") -> str:
    """Return how what counts as ``kind`` came out: ``3 reproduced, 2 on another GPU (would be 2
    exceeded)``.
    """
    if kind == ELSEWHERE:
        return f"would be {_listed(found.statuses)}" if found.statuses else ""
    away = f"{found.elsewhere} on another GPU (would be {_listed(found.away)})"
    return ", ".join(filter(None, (_listed(found.judged), away if found.elsewhere else "")))


def came_out(counted_things: Iterable[Outcome]) -> str:
    """Return how things of one kind that count came out, in words."""
    every = tuple(counted_things)
    return told(tallied(every), every[0].kind) if every else ""


def _listed(numbers: Mapping[Status, int]) -> str:
    return ", ".join(f"{count} {status.word}" for status, count in numbers.items())


WITH = "with"
KIND_WORDS = {**{k: many for k, (_, many) in KINDS.items()}, WITH: "counted with another claim"}
NAMED, OTHER = "named", "other"


@dataclass(frozen=True)
class Facet:
    """One thing that a line counts as."""

    kind: str
    verdict: Verdict
    gpus: tuple[str, ...]
    counted_with: str | None = None

    @property
    def status(self) -> Status:
        """Return how it came out; of a figure measured elsewhere, what it would be there."""
        return outcome(self.verdict)

    @property
    def hardware(self) -> str | None:
        """Return ``NAMED`` or ``OTHER`` than the source names; None where nothing was measured."""
        if self.verdict.measured_on is None:
            return None
        return OTHER if self.verdict.status is Status.ELSEWHERE else NAMED

    @property
    def tokens(self) -> tuple[str, ...]:
        """Return what it can be chosen by."""
        of, artifact, hardware = self.verdict, self.verdict.artifact, self.hardware
        found = [f"s:{of.source}", f"k:{self.kind}", f"v:{self.status.value}"]
        found += [f"a:{artifact}"] if artifact else []
        found += [f"h:{hardware}"] if hardware else []
        found += [f"g:{gpu}" for gpu in self.gpus]
        found += [f"w:{of.why.value}"] if of.why else []
        return tuple(found)


def facets(
    rows: Mapping[str, Sequence[Verdict]],
    counted_things: Sequence[Outcome],
    leads: Mapping[str, Verdict],
) -> dict[str, tuple[Facet, ...]]:
    """Return the facets of every claim, by its verdicts; ``leads``: the one that its line shows."""
    gpus = {
        claim: tuple(dict.fromkeys(row.target for row in of if row.target and row.measured_on))
        for claim, of in rows.items()
    }
    found: dict[str, list[Facet]] = {}
    told_with: dict[str, str] = {}
    for each in counted_things:
        claim = each.lead.claim
        found.setdefault(claim, []).append(Facet(each.kind, each.lead, gpus[claim]))
        for row in each.rows:
            told_with.setdefault(row.claim, claim)
    for claim, lead in leads.items():
        if claim not in found:
            found[claim] = [Facet(WITH, lead, gpus[claim], told_with.get(claim))]
    return {claim: tuple(each) for claim, each in found.items()}


def count_words(found: Iterable[Facet]) -> str:
    """Return what facets count, kind by kind: ``43 published speed figures, 20 ratios ...``."""
    numbers = Counter(facet.kind for facet in found)
    parts = [counted(numbers[kind], *words) for kind, words in KINDS.items() if kind in numbers]
    if WITH in numbers:
        parts.append(with_another(numbers[WITH]))
    return ", ".join(parts)


def with_another(number: int) -> str:
    """Return how many claims count with another."""
    return f"{counted(number, 'claim')} counted with another"


def outcome_words(found: Iterable[Facet]) -> str:
    """Return how what counts among facets came out: ``36 consistent, 50 inconsistent``."""
    counting = [facet for facet in found if facet.kind != WITH]
    away = tally(each.status for each in counting if each.hardware == OTHER)
    return told(OutcomeCounts(statuses=tally(each.status for each in counting), away=away))


def choice_of(
    kind: str, *, status: Status | None = None, why: Why | None = None, on: str | None = None
) -> str:
    """Return the choice of values that a number is told by, as the page's address has it.

    ``on``: ``NAMED`` or ``OTHER``.
    """
    values = {"k": kind, "v": status and status.value, "w": why and why.value, "h": on}
    return "&".join(f"{name}={value}" for name, value in values.items() if value)


def filters(catalog: Catalog, every: Sequence[Facet]) -> Iterator[Row]:
    """Yield what the table of claims can be filtered by, where there is something to choose.

    Its values begin with ``prefix`` among a facet's tokens; options are (value, words).
    """
    kinds = {facet.kind for facet in every}
    statuses = {facet.status for facet in every}
    causes = {facet.verdict.why for facet in every}
    artifacts = sorted({a for facet in every if (a := facet.verdict.artifact)})
    hardware = {facet.hardware for facet in every}
    gpus = dict.fromkeys(gpu for facet in every for gpu in facet.gpus)
    sources = dict.fromkeys(facet.verdict.source for facet in every)
    on = ((NAMED, "the GPU that the source names"), (OTHER, "another GPU alone"))
    titles = {source: catalog.sources[source].source.title for source in sources}
    for name, prefix, options in (
        ("Counts as", "k", [(k, w) for k, w in KIND_WORDS.items() if k in kinds]),
        ("Source", "s", [(s, f"{s}: {title}") for s, title in titles.items()]),
        ("Verdict", "v", [(s.value, s.word) for s in Status if s in statuses]),
        ("Why", "w", [(w.value, w.short) for w in Why if w in causes]),
        ("What ran", "a", [(a, a) for a in artifacts]),
        ("Measured on", "h", [(h, words) for h, words in on if h in hardware]),
        ("GPU", "g", [(gpu, catalog.targets[gpu].product) for gpu in gpus]),
    ):
        if len(options) > 1:
            yield {"name": name, "prefix": prefix, "options": options}

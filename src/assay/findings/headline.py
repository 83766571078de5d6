"""The headline of a run: published speed figures, counted once each, and why not. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.judging.counts import Counted, Tally, VerdictCounts, count_verdicts, counted_once
from assay.records.verdicts import Status, Verdict, Why

HELD = (Status.REPRODUCED, Status.EXCEEDED)
PUBLISHED = ("published", "elsewhere")
"""Kinds of counts that are speed figures which sources publish."""


@dataclass(frozen=True)
class PublishedFigures:
    """Published speed figures, measurements counted, and what is counted apart from them."""

    total: int
    statuses: Tally
    """Those measured elsewhere by what they would be on the hardware that their source names."""
    elsewhere: int
    """How many of them were measured on other hardware alone."""
    causes: dict[Why, int]
    """Why those that did not plainly hold did not, the most frequent first."""
    apart: VerdictCounts
    """The same counts by kind."""


def published_figures(catalog: Catalog, verdicts: Iterable[Verdict]) -> PublishedFigures:
    """Return the headline of a run's verdicts."""
    rows = list(verdicts)
    once = [each for each in counted_once(catalog, rows) if each.kind in PUBLISHED]
    statuses = Counter(each.status for each in once)
    causes = Counter(cause for each in once if (cause := cause_of(each)) is not None)
    ordered = sorted(causes.items(), key=lambda item: (-item[1], [*Why].index(item[0])))
    return PublishedFigures(
        total=len(once),
        statuses={status: statuses[status] for status in Status if statuses[status]},
        elsewhere=sum(each.kind == "elsewhere" for each in once),
        causes=dict(ordered),
        apart=count_verdicts(catalog, rows),
    )


def cause_of(counted: Counted) -> Why | None:
    """Return why what counts as one did not plainly hold; None where it did."""
    return None if counted.status in HELD else counted.worst.why

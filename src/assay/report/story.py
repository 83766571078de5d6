"""What a run says of its documents in sentences that people wrote. Pure.

They stand with the claims (``findings`` of a source). One is left out where a verdict
is another than it rests on, or a figure that it names was not measured.
"""

import math
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from assay.base.printable import capital
from assay.catalog.model import Catalog
from assay.judging.counts import rows_by_claim
from assay.judging.impossible_figures import impossible_claims
from assay.records.claims import Source, SourceFinding
from assay.records.units import FigurePlace, places, split
from assay.records.verdicts import Verdict
from assay.report import formatting as fmt

DIGITS = 3  # significant digits of a figure in a sentence


class Sentence(NamedTuple):
    """One finding, with its figures filled in."""

    text: str
    rests_on: str


def documents(catalog: Catalog, sources: Sequence[str]) -> tuple[Source, ...]:
    """Return the documents among ``sources`` that somebody else wrote."""
    found = (catalog.sources[name].source for name in sources if name in catalog.sources)
    return tuple(each for each in found if each.about is not None)


def story(catalog: Catalog, verdicts: Sequence[Verdict]) -> tuple[Sentence, ...]:
    """Return the findings that hold in this run, source by source."""
    rows = rows_by_claim(verdicts)
    findings = (each for file in catalog.sources.values() for each in file.findings)
    return tuple(filter(None, (_sentence(catalog, finding, rows) for finding in findings)))


def _sentence(
    catalog: Catalog, finding: SourceFinding, rows: Mapping[str, Sequence[Verdict]]
) -> Sentence | None:
    leads = {name: _lead(catalog, rows.get(name, ())) for name in finding.when}
    if any(lead is None or lead.status not in finding.when[name] for name, lead in leads.items()):
        return None
    text, *words = split(finding.says)
    for place, following in zip(places(finding.says), words, strict=True):
        verdict = leads[place.claim]
        if place.target is not None:
            of = (each for each in rows[place.claim] if each.target == place.target)
            verdict = next(of, None)
        figure = _figure(catalog, verdict, place) if verdict else None
        if figure is None:
            return None
        text += f"{figure}{following}"
    return Sentence(text, next(iter(finding.when)))


def _lead(catalog: Catalog, rows: Sequence[Verdict]) -> Verdict | None:
    """Return the verdict on the GPU that the source names, else on another; None without any."""
    named: set[str | None] = {None}
    if rows and (claim := catalog.claims.get(rows[0].claim)) is not None:
        named |= set(claim.hardware.targets)
    return min(rows, key=lambda row: (row.target not in named, row.measured is None), default=None)


def _figure(catalog: Catalog, verdict: Verdict, place: FigurePlace) -> str | None:
    """Return what stands at a place; None where nothing was measured of it."""
    if place.what == "gpu":
        return verdict.target.upper() if verdict.target else None
    if place.what == "claimed":
        return catalog.claims[place.claim].as_printed
    value: float | str | None = verdict.measured
    ci90 = verdict.ci90
    if place.reading is not None:
        held = next((each for each in verdict.readings if each.id == place.reading), None)
        if held is None:
            return None
        value, ci90 = held.work_ratio if place.what == "work" else held.measured, held.ci90
    if place.what == "interval":
        return " to ".join(map(_rounded, ci90)) if ci90 else None
    return _rounded(value) if isinstance(value, float) else value


def _rounded(value: float) -> str:
    return f"{math.floor(value + 0.5)}" if value >= 10 else fmt.short(value, DIGITS)


def impossible_figures(catalog: Catalog, claims: Container[str]) -> dict[str, str]:
    """Return why claims are beyond their target's peaks as they are stated."""
    found = impossible_claims(catalog)
    return {each.of: f"{capital(each.says)}." for each in found if each.of in claims}

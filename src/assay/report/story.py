"""What a run says of its documents: sentences that people wrote, with figures from verdicts. Pure.

The sentences stand with the claims (``findings`` of a source). One is left out where a verdict is
another than it rests on, or a figure that it names was not measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.records.claims import SourceFinding
from assay.records.figure_places import FigurePlace, places, split
from assay.records.verdicts import Verdict
from assay.report import formatting as fmt

DIGITS = 3
"""Significant digits of a figure in a sentence."""


@dataclass(frozen=True)
class Document:
    """A document whose figures are judged."""

    id: str
    title: str
    whose: str
    """Author and date, as far as they are known."""
    about: str
    address: str | None


@dataclass(frozen=True)
class Sentence:
    """One finding, with its figures filled in."""

    source: str
    text: str
    rests_on: str
    """The first claim that it rests on."""


def documents(catalog: Catalog, sources: Sequence[str]) -> tuple[Document, ...]:
    """Return the documents among ``sources`` that somebody else wrote."""
    found = [catalog.sources[name].source for name in sources if name in catalog.sources]
    return tuple(
        Document(
            each.id,
            each.title,
            ", ".join(filter(None, (each.author, each.date))),
            each.about or "",
            each.address,
        )
        for each in found
        if each.about is not None
    )


def story(catalog: Catalog, verdicts: Sequence[Verdict]) -> tuple[Sentence, ...]:
    """Return the findings that hold in this run, source by source."""
    rows: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        rows.setdefault(verdict.claim, []).append(verdict)
    told = (
        _sentence(catalog, name, finding, rows)
        for name, file in catalog.sources.items()
        for finding in file.findings
    )
    return tuple(each for each in told if each is not None)


def _sentence(
    catalog: Catalog, source: str, finding: SourceFinding, rows: dict[str, list[Verdict]]
) -> Sentence | None:
    leads = {name: _lead(catalog, rows.get(name, [])) for name in finding.when}
    if any(
        verdict is None or verdict.status not in finding.when[name]
        for name, verdict in leads.items()
    ):
        return None
    first, *words = split(finding.says)
    text = first
    for place, following in zip(places(finding.says), words, strict=True):
        verdict = leads[place.claim]
        figure = _figure(catalog, verdict, place) if verdict else None
        if figure is None:
            return None
        text += f"{figure}{following}"
    return Sentence(source, text, next(iter(finding.when)))


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
    if place.reading is not None:
        held = next((each for each in verdict.readings if each.id == place.reading), None)
        value = None if held is None else held.work_ratio if place.what else held.measured
    if not isinstance(value, float):
        return value
    return f"{value:.0f}" if abs(value) >= 10 else fmt.short(value, DIGITS)


def in_markdown(sentence: Sentence, page: str) -> str:
    """Return a finding with a link to its evidence in ``page``."""
    return f"{fmt.markdown(sentence.text)} ([evidence]({page}#{sentence.rests_on}))"

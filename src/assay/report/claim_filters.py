"""What the table of claims can be filtered by, with the values that occur."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.records.verdicts import Status, Why
from assay.report.claims import ClaimLine
from assay.report.facets import KIND_WORDS, NAMED, OTHER


@dataclass(frozen=True)
class Filter:
    """One choice: its name, what its values begin with among a facet's tokens, (value, words)."""

    name: str
    prefix: str
    options: tuple[tuple[str, str], ...]


def filters(catalog: Catalog, lines: Iterable[ClaimLine]) -> tuple[Filter, ...]:
    """Return the filters that have something to choose between."""
    every = [facet for line in lines for facet in line.facets]
    kinds = {facet.kind for facet in every}
    statuses = {facet.status for facet in every}
    causes = {facet.why for facet in every}
    artifacts = {facet.artifact for facet in every if facet.artifact}
    hardware = {facet.hardware for facet in every}
    gpus = dict.fromkeys(gpu for facet in every for gpu in facet.gpus)
    sources = dict.fromkeys(facet.source for facet in every)
    on = ((NAMED, "the GPU that the source names"), (OTHER, "another GPU alone"))
    found = (
        Filter("Counts as", "k", tuple((k, w) for k, w in KIND_WORDS.items() if k in kinds)),
        Filter("Source", "s", tuple((s, f"{s}: {title_of(catalog, s)}") for s in sources)),
        Filter("Verdict", "v", tuple((s.value, s.word) for s in Status if s in statuses)),
        Filter("Why", "w", tuple((w.value, w.words) for w in Why if w in causes)),
        Filter("What ran", "a", tuple((a, a) for a in sorted(artifacts))),
        Filter("Measured on", "h", tuple((h, words) for h, words in on if h in hardware)),
        Filter("GPU", "g", tuple((gpu, catalog.targets[gpu].product) for gpu in gpus)),
    )
    return tuple(choice for choice in found if len(choice.options) > 1)


def title_of(catalog: Catalog, source: str) -> str:
    """Return a source's title."""
    return catalog.sources[source].source.title

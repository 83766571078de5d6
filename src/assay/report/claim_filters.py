"""What the table of claims can be filtered by, with the values that occur."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.records.verdicts import Status, Why
from assay.report.claims import ClaimLine


@dataclass(frozen=True)
class Filter:
    """One choice: its name, what its values begin with among a line's tokens, (value, words)."""

    name: str
    prefix: str
    options: tuple[tuple[str, str], ...]


def filters(catalog: Catalog, lines: Iterable[ClaimLine]) -> tuple[Filter, ...]:
    """Return the filters that have something to choose between."""
    every = list(lines)
    statuses = {line.lead.status for line in every}
    causes = {line.lead.why for line in every}
    artifacts = {line.artifact for line in every if line.artifact}
    gpus = dict.fromkeys(gpu for line in every for gpu in line.gpus)
    sources = dict.fromkeys(line.source for line in every)
    found = (
        Filter("Source", "s", tuple((s, f"source {s}") for s in sources)),
        Filter("Verdict", "v", tuple((s.value, s.word) for s in Status if s in statuses)),
        Filter("What ran", "a", tuple((a, a) for a in sorted(artifacts))),
        Filter("GPU", "g", tuple((gpu, catalog.targets[gpu].product) for gpu in gpus)),
        Filter("Why", "w", tuple((w.value, w.words) for w in Why if w.value in causes)),
    )
    return tuple(choice for choice in found if len(choice.options) > 1)

"""Figures that arithmetic alone contradicts, as the page lists them: measured or not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from assay.base.printable import capital
from assay.catalog.model import Catalog
from assay.judging.impossible_figures import impossible_claims
from assay.report.claims import ClaimLine


@dataclass(frozen=True)
class ImpossibleLine:
    """One claim of the report that cannot be right as it is stated."""

    claim: str
    title: str
    says: str
    """A sentence."""


def impossible_lines(catalog: Catalog, lines: Mapping[str, ClaimLine]) -> Iterator[ImpossibleLine]:
    """Yield the claims of a report that are beyond their target's peaks, and ratios that the two
    figures which they are of do not give.
    """
    for each in impossible_claims(catalog):
        if each.of in lines:
            yield ImpossibleLine(each.of, lines[each.of].title, f"{capital(each.says)}.")


def with_impossible(
    lines: Mapping[str, ClaimLine], found: tuple[ImpossibleLine, ...]
) -> dict[str, ClaimLine]:
    """Return lines whose notes begin with why they cannot be right."""
    noted = dict(lines)
    for each in found:
        line = noted[each.claim]
        note = " ".join(filter(None, (f"By arithmetic alone: {each.says}", line.note)))
        noted[each.claim] = replace(line, note=note)
    return noted

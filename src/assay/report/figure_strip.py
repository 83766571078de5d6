"""Which marks the first screen's strip has: figures and ratios that were measured, by source."""

from collections.abc import Mapping, Sequence

from assay.catalog.model import Catalog
from assay.findings.headline import ELSEWHERE, FIGURES, KINDS, Outcome
from assay.records.claims import Relation
from assay.records.verdicts import Status, Verdict, Why
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.marks import mark_of, verdict_mark
from assay.report.ratios import has_no_better_side, toward_better
from assay.report.strip import Dot, Lane, Strip, strip
from assay.shared.counting import agreeing, counted

DRAWN = (FIGURES, ELSEWHERE, "ratios", "own")
"""Kinds that have a speed to draw."""


def figure_strip(
    catalog: Catalog,
    sources: Sequence[str],
    counted_things: Sequence[Outcome],
    lines: Mapping[str, ClaimLine],
) -> Strip | None:
    """Return every figure that counts and was measured, a lane a source; None where none was."""
    of_kinds = [each for each in counted_things if each.kind in DRAWN]
    dots: dict[str, list[Dot]] = {source: [] for source in sources}
    drawn: list[Outcome] = []
    for each in of_kinds:
        verdict, line = each.lead, lines[each.lead.claim]
        ratio = toward_better(catalog, verdict)
        if ratio is None:
            continue
        drawn.append(each)
        figure = f"{fmt.figure(verdict.measured, verdict.unit, verdict.claimed)} for {line.claimed}"
        href = f"#{verdict.claim}"
        dots[verdict.source].append(
            Dot(
                href,
                line.title,
                figure,
                ratio,
                verdict_mark(verdict),
                bound=_is_bound(verdict),
                small=each.kind == "ratios",
                alike=has_no_better_side(verdict),
                by_parts=verdict.why is Why.PART_MISSED and ratio.value > 1,
            )
        )
    lanes = [Lane(_lane_label(catalog, source), tuple(found)) for source, found in dots.items()]
    margins = catalog.judging.absolute_margin, catalog.judging.ratio_margin
    seen = {each.status for each in drawn}
    legend = [(mark_of(status), status.word) for status in Status if status in seen]
    return strip(lanes, margins, legend, _counts(drawn, of_kinds))


def _is_bound(verdict: Verdict) -> bool:
    return verdict.relation in (Relation.AT_LEAST.value, Relation.AT_MOST.value)


def _counts(drawn: Sequence[Outcome], of_kinds: Sequence[Outcome]) -> str:
    """Return how many marks of what there are: ``2 marks: 2 of 3 published speed figures``."""
    parts = []
    for kind in DRAWN:
        number, of = (sum(each.kind == kind for each in part) for part in (drawn, of_kinds))
        if number:
            smaller = ", drawn smaller" if kind == "ratios" else ""
            parts.append(f"{number} of {counted(of, *KINDS[kind])}{smaller}")
    listed = f"{counted(len(drawn), 'mark')}: {' and '.join(parts)}"
    idle = sum(each.kind == FIGURES for each in of_kinds) - sum(e.kind == FIGURES for e in drawn)
    if idle:
        listed += f"; the other {idle} {agreeing(idle, 'figure has', 'figures have')} none"
    return listed


def _lane_label(catalog: Catalog, source: str) -> str:
    return (
        f"{source}: {catalog.sources[source].source.title}"
        if catalog.sources[source].source.file
        else "its own claims"
        if catalog.project
        else "our own claims"
    )

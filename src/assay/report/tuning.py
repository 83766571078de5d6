"""The report on tuning: which configurations were chosen, and what their sweeps say."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings import tuning_outcomes as sweeps
from assay.judging.case import Case
from assay.records.tuning import ShapeClass, TuningChoice
from assay.report import formatting as fmt
from assay.report.figure_sweeps import Configuration, Panel, sweep_panels
from assay.report.links import Link, link
from assay.report.rate_pictures import Picture
from assay.shared.counting import agreeing
from assay.statistics.shared_summaries import SharedSummaries

CAPTION = (
    "{target}: rates of stored blocks with their confidence intervals; axes do not start at zero. "
    "A filled diamond and bold letters mark the configuration in use, a dashed line a library that "
    "ran beside the sweep. At the right: of the first row the constants that the sweep varies, of "
    "others those that differ from it. Arms of a sweep share its clock, so their order is fair and "
    "their rates are not those of other tables."
)


@dataclass(frozen=True)
class ChoiceRow:
    """One choice and what its sweep says of it."""

    target: str
    what: str
    shapes: str
    variant: str
    settings: str
    standing: str
    confirmed: bool
    ratio: str
    interval: str | None
    sentence: str
    why: str
    comparison: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class TuningSection:
    """Choices, and a picture of each target's sweeps."""

    rows: tuple[ChoiceRow, ...]
    pictures: tuple[Picture, ...]


def tuning_section(
    catalog: Catalog, evidence: Evidence, summaries: SharedSummaries
) -> TuningSection | None:
    """Return the section, or None where no sweep is among the evidence."""
    case = Case(catalog, evidence, summaries)
    rows = tuple(_row(catalog, outcome) for outcome in sweeps.outcomes(case))
    if not rows:
        return None
    return TuningSection(rows=rows, pictures=_pictures(sweeps.sweeps(case)))


def _row(catalog: Catalog, outcome: sweeps.SweepOutcome) -> ChoiceRow:
    choice, ratio = outcome.choice, outcome.ratio
    return ChoiceRow(
        target=choice.target,
        what=f"{choice.operation.value}, {choice.dtype}, {choice.block_rows}x{choice.block_cols}",
        shapes=shapes_in_words(choice.shapes),
        variant=choice.variant,
        settings=sweeps.settings(catalog.variants[choice.variant].defines),
        standing=fmt.words(outcome.standing.value),
        confirmed=outcome.standing is sweeps.ChoiceStanding.CONFIRMED,
        ratio=fmt.quantity(ratio.value(), "ratio") if ratio else fmt.NOTHING,
        interval=fmt.interval(ratio.interval()) if ratio else None,
        sentence=outcome.sentence,
        why=choice.why,
        comparison=_anchor(choice),
        links=tuple(link(f"evidence/{path}") for path in outcome.evidence),
    )


def _anchor(choice: TuningChoice) -> str:
    """Return where the report shows the sweep's arms one by one."""
    return f"comparison-{choice.target}-{choice.evidence.comparison}"


def shapes_in_words(shapes: ShapeClass) -> str:
    """Return a shape class as a reader says it."""
    n, blocks = (_range_in_words(*bounds) for bounds in shapes.ranges())
    rows = {None: "", True: "ragged rows", False: "rows of one length"}[shapes.ragged]
    parts = (n and f"n {n}", blocks and f"{blocks} {_blocks(*shapes.ranges()[1])} a row", rows)
    return ", ".join(part for part in parts if part) or "every shape"


def _range_in_words(least: float, most: float | None) -> str:
    """Empty where every value is inside: counts start at 0 or 1."""
    if most is None:
        return f"from {least:g}" if least > 1 else ""
    return f"{least:g} to {most:g}" if least > 1 else f"up to {most:g}"


def _blocks(least: float, most: float | None) -> str:
    """Return the noun that follows a range in words: the last number of the range decides."""
    return agreeing(least if most is None else most, "block", "blocks")


def _pictures(found: Sequence[sweeps.Sweep]) -> tuple[Picture, ...]:
    """Return one picture a target."""
    pictures = []
    for target in dict.fromkeys(sweep.target for sweep in found):
        panels = [_panel(sweep) for sweep in found if sweep.target == target]
        svg = sweep_panels(panels, f"tuning-{target}")
        if svg:
            pictures.append(Picture(svg, CAPTION.format(target=target)))
    return tuple(pictures)


def _panel(sweep: sweeps.Sweep) -> Panel:
    return Panel(
        title=sweep.title,
        rows=tuple(
            Configuration(
                label=row.arm,
                rate=row.rate.value(),
                low=row.rate.interval()[0],
                high=row.rate.interval()[1],
                chosen=row.chosen,
                kernel=row.kernel,
                note=f"{fmt.quantity(row.rate.value(), 'tflop_per_s')}: {row.settings}",
            )
            for row in sweep.rows
        ),
    )

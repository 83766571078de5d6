"""The report on tuning: which configurations were chosen, and what their sweeps say."""

from collections.abc import Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.tuning_outcomes import ChoiceStanding, outcomes
from assay.judging.case import Case
from assay.report import formatting as fmt
from assay.report.formatting import Row, link
from assay.statistics.shared_summaries import SharedSummaries


def tuning_rows(catalog: Catalog, evidence: Evidence, summaries: SharedSummaries) -> Iterator[Row]:
    """Yield each choice whose sweep is among the evidence, and what that says of it."""
    for outcome in outcomes(Case(catalog, evidence, summaries)):
        choice, ratio = outcome.choice, outcome.ratio
        yield {
            "choice": choice,
            "what": f"{choice.operation.value}, {choice.dtype}, "
            f"{choice.block_rows}x{choice.block_cols}",
            "shapes": fmt.shape(choice.shapes.model_dump(mode="json", exclude_defaults=True)),
            "settings": fmt.shape(catalog.variants[choice.variant].defines),
            "standing": fmt.words(outcome.standing.value),
            "confirmed": outcome.standing is ChoiceStanding.CONFIRMED,
            "ratio": fmt.quantity(ratio.value(), "ratio") if ratio else fmt.NOTHING,
            "interval": fmt.interval(ratio.interval()) if ratio else None,
            "sentence": outcome.sentence,
            "links": [link(f"evidence/{path}") for path in outcome.evidence],
        }

"""The frame of a report's verdicts. Pure."""

from collections.abc import Iterable

import pandas as pd

from assay.frames.columns import Column, frame_of_records
from assay.records.claims import LESS_IS_BETTER
from assay.records.verdicts import Verdict

VERDICTS = (
    Column("claim", "object", "claim or audit id"),
    Column("source", "category", "source id"),
    Column("target", "category", "target id; none of what no GPU answers"),
    Column("kind", "category", "how it is counted: published, elsewhere, ratios, own, probes ..."),
    Column("counts", "bool", "whether its measurement counts by this row, and by no other"),
    Column("outcome", "category", "what it counts as: as_if where it has one, else status"),
    Column("status", "category", "reproduced, exceeded, not_reproduced, misstated ..."),
    Column("why", "category", "code of the cause that is known of the figure"),
    Column("why_on", "category", "the target that it was found on, where that is another row's"),
    Column("as_if", "category", "of a figure measured elsewhere: what it would be there"),
    Column("reason", "category", "code, of not_run and of failures with a nameable cause"),
    Column("artifact", "category", "original, library, reimplemented, arithmetic, inspection"),
    Column("relation", "category", "equals, same, at_least, at_most, or the audit's formula"),
    Column("claimed", "float64", "the printed figure, in unit"),
    Column("claimed_text", "object", "the same where it is no number"),
    Column("measured", "float64", "the measured figure, in unit"),
    Column("measured_text", "object", "the same where it is no number"),
    Column("unit", "category", "of claimed, measured and the interval"),
    Column("ci_low", "float64", "low end of the 90 % interval"),
    Column("ci_high", "float64", "high end of the 90 % interval"),
    Column("better", "int64", "1 where more is better, -1 where less is (times), 0 neither"),
    Column("margin", "float64", "declared before the run, a fraction"),
    Column("noise_floor", "float64", "of the A/A control, a fraction"),
    Column("samples", "float64", "timed launches, or runs"),
    Column("discarded_blocks", "float64", "blocks that do not count"),
    Column("roofline_fraction", "float64", "of the datasheet's roofline bound"),
    Column("gpu", "category", "product that was measured", "measured_on.product"),
    Column("gpu_uuid", "category", "the card"),
    Column("driver", "category", "NVIDIA driver", "measured_on.driver"),
    Column("vbios", "category", "of the card", "measured_on.vbios"),
    Column("power_limit_w", "float64", "power limit in force, W", "measured_on.power_limit_w"),
    Column(
        "recorded_at", "object", "when the machine was recorded, UTC", "measured_on.recorded_at"
    ),
    Column(
        "in_this_run",
        "object",
        "whether the report's own run measured it",
        "measured_on.in_this_run",
    ),
    Column("binary_sha256", "object", "the binary that was timed"),
    Column("explanation", "object", "what was run and how it stands to the claim"),
)
"""One row a verdict: one claim on one target."""
NEITHER = frozenset({"lines", "count"})
"""Units of figures of which neither more nor less is better."""


def verdicts(entries: Iterable[tuple[str, bool, Verdict]]) -> pd.DataFrame:
    """Return (kind, whether it counts, verdict) entries with the columns ``VERDICTS``."""
    rows = [
        (verdict, {"kind": kind, "counts": counts, **_beside(verdict)})
        for kind, counts, verdict in entries
    ]
    return frame_of_records(VERDICTS, rows)


def _beside(verdict: Verdict) -> dict[str, object]:
    found: dict[str, object] = {
        "outcome": (verdict.as_if or verdict.status).value,
        "ci_low": verdict.ci90 and verdict.ci90[0],
        "ci_high": verdict.ci90 and verdict.ci90[1],
        "better": better(verdict),
    }
    for name, value in (("claimed", verdict.claimed), ("measured", verdict.measured)):
        text = isinstance(value, str)
        found |= {name: None if text else value, f"{name}_text": value if text else None}
    return found


def better(verdict: Verdict) -> int:
    """Return 1 where more is better, -1 where less is, 0 where neither is."""
    if verdict.unit is None or verdict.unit in NEITHER or verdict.relation == "same":
        return 0
    return -1 if verdict.unit in LESS_IS_BETTER else 1

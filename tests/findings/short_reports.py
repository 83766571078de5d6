"""Reports in short, as comparisons and histories read them."""

from typing import Any

from assay.records.report_figures import ClaimInShort, ReportFigure, ReportFigures, ReportMachine
from assay.records.verdicts import Status


def figure(measured: float, half: float = 0.5, **changes: Any) -> ReportFigure:
    fields = {
        "claim": "rate", "source": "post", "target": "h100", "status": Status.REPRODUCED,
        "why": None, "reason": None, "as_if": None, "claimed": 100.0, "measured": measured,
        "unit": "tflop_per_s", "ci90": (measured - half, measured + half),
        "roofline_fraction": None, "protocol": "events:1", "binary_sha256": "b" * 64,
        "question": "q", "gpu_uuid": None,
    }  # fmt: skip
    return ReportFigure.model_validate({**fields, **changes})


def machine(card: str, at: str, **changes: Any) -> ReportMachine:
    fields = {
        "target": "h100", "product": "H100", "gpu_uuid": card, "driver": "580", "vbios": None,
        "power_limit_w": 700.0, "recorded_at": at, "commit": "c1",
    }  # fmt: skip
    return ReportMachine.model_validate({**fields, **changes})


def report(run: str, on: ReportMachine, *figures: ReportFigure) -> ReportFigures:
    """Return a report of published figures, each of which counts by itself unless it says else."""
    numbers = [n if each.counted_as is None else each.counted_as for n, each in enumerate(figures)]
    return ReportFigures(
        schema="assay/report_figures/1",
        run=run,
        rules=3,
        commit="c9",
        created=f"2026-11-2{run[-1]}T00:00:00Z",
        manifest_sha256=run[-1] * 64,
        machines=(on,),
        figures=tuple(
            each.model_copy(update={"counted_as": number})
            for number, each in zip(numbers, figures, strict=True)
        ),
        claims={
            each.claim: ClaimInShort(title=each.claim, claimed="", kind="figures")
            for each in figures
        },
    )

"""Claims with a figure on more than one GPU, side by side."""

from collections.abc import Mapping, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.report_comparison import apart_ci90
from assay.judging.counts import kind_of
from assay.records.units import Unit
from assay.records.verdicts import Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.formatting import Row

FAST: Mapping[str, int] = {Unit.TFLOP_PER_S: 1, Unit.GB_PER_S: 1, Unit.MS: -1}
"""Power to which a figure is raised before it says how fast something is. Verdicts are judged in
these units; a ratio of one GPU's kernels is no speed."""


def across_gpus(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    lines: Mapping[str, ClaimLine],
) -> Row | None:
    """Return the figures of claims that several GPUs have one of; None where none has."""
    found: dict[str, dict[str, Verdict]] = {}
    for verdict in verdicts:
        if verdict.ci90 is not None and verdict.target and kind_of(catalog, verdict) != "probes":
            found.setdefault(verdict.claim, {})[verdict.target] = verdict
    several = {claim: on for claim, on in found.items() if len(on) > 1}
    if not several:
        return None
    planned = [plan.target for plan in evidence.plan.targets]
    targets = [target for target in planned if any(target in on for on in several.values())]
    first, *others = targets
    names = [catalog.targets[target].product for target in targets]
    return {
        "gpus": names,
        "ratios": [f"{name} over {names[0]}" for name in names[1:]],
        "rows": [
            (
                lines[claim],
                [_cell(on.get(target)) for target in targets],
                [_ratio(on.get(first), on.get(other)) for other in others],
            )
            for claim, on in several.items()
        ],
    }


def _cell(verdict: Verdict | None) -> tuple[str, str | None, str | None]:
    """Return a claim's figure on one GPU, its interval, its share of that GPU's bound."""
    if verdict is None:
        return fmt.NOTHING, None, None
    share = verdict.roofline_fraction if verdict.unit in FAST else None
    return (
        fmt.figure(verdict.measured, verdict.unit, verdict.claimed),
        fmt.interval_of(verdict.measured, verdict.unit, verdict.ci90, verdict.claimed),
        None if share is None else f"{fmt.percent(share)} of its bound",
    )


def _ratio(one: Verdict | None, other: Verdict | None) -> tuple[str, str | None]:
    """Return how many times as fast the other GPU is, and the interval of that."""
    slow, fast = _speed(one), _speed(other)
    if slow is None or fast is None:
        return fmt.NOTHING, None
    return fmt.quantity(fast[0] / slow[0], Unit.RATIO), fmt.interval(apart_ci90(fast[1], slow[1]))


def _speed(verdict: Verdict | None) -> tuple[float, tuple[float, float]] | None:
    """Return a figure and its interval as more the faster; None for what is no speed."""
    if verdict is None:
        return None
    measured, interval = verdict.measured, verdict.ci90
    power = FAST.get(verdict.unit or "")
    if power is None or not isinstance(measured, float) or interval is None or interval[0] <= 0:
        return None
    low, high = sorted(end**power for end in interval)
    return measured**power, (low, high)

"""Claims with a figure on more than one GPU, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.judging.counts import kind_of
from assay.records.verdicts import Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine


@dataclass(frozen=True)
class AcrossRow:
    """One claim; ``cells`` stand under the GPUs."""

    claim: str
    title: str
    claimed: str
    cells: tuple[tuple[str, str | None], ...]
    """(figure, its interval)."""


@dataclass(frozen=True)
class AcrossGpus:
    """The table."""

    gpus: tuple[str, ...]
    rows: tuple[AcrossRow, ...]


def across_gpus(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    lines: Mapping[str, ClaimLine],
) -> AcrossGpus | None:
    """Return the figures of claims that several GPUs have one of; None where none has."""
    found: dict[str, dict[str, Verdict]] = {}
    for verdict in verdicts:
        if verdict.ci90 is not None and verdict.target and kind_of(catalog, verdict) != "probes":
            found.setdefault(verdict.claim, {})[verdict.target] = verdict
    several = {claim: on for claim, on in found.items() if len(on) > 1}
    targets = [
        plan.target
        for plan in evidence.plan.targets
        if any(plan.target in on for on in several.values())
    ]
    if not several:
        return None
    rows = tuple(
        AcrossRow(
            claim,
            lines[claim].title,
            lines[claim].claimed,
            tuple(_cell(on.get(target)) for target in targets),
        )
        for claim, on in several.items()
    )
    return AcrossGpus(tuple(catalog.targets[target].product for target in targets), rows)


def _cell(verdict: Verdict | None) -> tuple[str, str | None]:
    if verdict is None:
        return fmt.NOTHING, None
    return (
        fmt.figure(verdict.measured, verdict.unit, verdict.claimed),
        fmt.interval_of(verdict.measured, verdict.unit, verdict.ci90, verdict.claimed),
    )

"""The report's account of PyTorch's operators: what was tried of each, and how it went."""

from collections.abc import Iterator, Set
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence, binaries_of
from assay.evidence.stages import operators_path
from assay.records.operators import OperatorOutcome, OperatorsRecord
from assay.report import formatting as fmt
from assay.report.links import Link, link


@dataclass(frozen=True)
class OperatorRow:
    """One operator through one kernel."""

    operator: str
    variant: str
    dtype: str
    passed: bool
    status: str
    checks: str
    """Each with what it says of itself."""
    sha256: str


@dataclass(frozen=True)
class OperatorsSection:
    """The operators of one target."""

    target: str
    torch: str
    failure: str
    """Why none was tried to its end, or nothing."""
    seconds: str
    rows: tuple[OperatorRow, ...]
    link: Link


def operator_sections(catalog: Catalog, evidence: Evidence) -> tuple[OperatorsSection, ...]:
    """Return a section for each target on which the operators were tried."""
    return tuple(
        OperatorsSection(
            target=target,
            torch=record.torch or "",
            failure=record.detail if record.status == "failed" else "",
            seconds=fmt.duration(record.seconds),
            rows=tuple(_rows(evidence, record, catalog.targets[target].arch)),
            link=link(f"evidence/{operators_path(target)}"),
        )
        for target, record in evidence.operators.items()
    )


def _rows(evidence: Evidence, record: OperatorsRecord, arch: str) -> Iterator[OperatorRow]:
    for outcome in record.operators:
        yield _row(outcome, binaries_of(evidence, outcome.variant, arch))
    yield from _untold(evidence, record, arch)


def _untold(evidence: Evidence, record: OperatorsRecord, arch: str) -> Iterator[OperatorRow]:
    """Yield a row for each kernel that was to be tried and of which the record says nothing."""
    if record.status == "failed":
        return
    told = {outcome.variant for outcome in record.operators}
    planned = {plan.target: plan.operators for plan in evidence.plan.targets}
    for variant in planned.get(record.target, ()):
        if variant not in told:
            why = "The record says nothing of it."
            if not binaries_of(evidence, variant, arch):
                why = "It did not compile."
            yield OperatorRow(fmt.NOTHING, variant, fmt.NOTHING, False, "not tried", why, "")


def _row(outcome: OperatorOutcome, binaries: Set[str]) -> OperatorRow:
    checks = "; ".join(
        f"{fmt.words(check.name)}{'' if check.passed else ' FAILED'}: {check.detail}"
        for check in outcome.checks
    )
    same = outcome.binary_sha256 in binaries
    return OperatorRow(
        operator=f"torch.ops.assay.{outcome.operator}",
        variant=outcome.variant,
        dtype=outcome.dtype,
        passed=outcome.status == "passed" and same,
        status=outcome.status if same else f"{outcome.status}, by another binary than this run's",
        checks=checks or outcome.detail,
        sha256=outcome.binary_sha256,
    )

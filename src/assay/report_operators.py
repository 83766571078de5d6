"""The report's account of PyTorch's operators: what was tried of each, and how it went."""

from dataclasses import dataclass

from assay import report_format as fmt
from assay.evidence import Evidence, operators_path
from assay.records.operators import OperatorOutcome
from assay.report_claims import Link, link


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
    seconds: str
    rows: tuple[OperatorRow, ...]
    link: Link


def operator_sections(evidence: Evidence) -> tuple[OperatorsSection, ...]:
    """A section for each target on which the operators were tried."""
    return tuple(
        OperatorsSection(
            target=target,
            torch=record.torch,
            seconds=fmt.duration(record.seconds),
            rows=tuple(_row(outcome) for outcome in record.operators),
            link=link(f"evidence/{operators_path(target)}"),
        )
        for target, record in evidence.operators.items()
    )


def _row(outcome: OperatorOutcome) -> OperatorRow:
    checks = "; ".join(
        f"{fmt.words(check.name)}{'' if check.passed else ' FAILED'}: {check.detail}"
        for check in outcome.checks
    )
    return OperatorRow(
        operator=f"torch.ops.assay.{outcome.operator}",
        variant=outcome.variant,
        dtype=outcome.dtype,
        passed=outcome.status == "passed",
        status=outcome.status,
        checks=checks or outcome.detail,
        sha256=outcome.binary_sha256,
    )

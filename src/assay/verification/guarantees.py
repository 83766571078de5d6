"""The six things that a verified report guarantees, by the checks they rest on, and the result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.base.errors import AssayError
from assay.base.printable import shown_line, shown_sentence
from assay.records.verification import (
    CheckEntry,
    GuaranteeEntry,
    ProofState,
    SignerEntry,
    VerificationRecord,
)
from assay.shared.errors import ExitCode
from assay.verification.verify import VerificationLog

TIMES = "The times are the signer's word."
"""What no check can guarantee."""
WORST_FIRST = (ProofState.FAILED, ProofState.NOT_CHECKED, ProofState.UNPROVEN, ProofState.PROVEN)


@dataclass(frozen=True)
class Guarantee:
    """One thing that holds where all of its checks do."""

    name: str
    checks: tuple[str, ...]
    says: str
    unasked: str = "nobody looked at it"


GUARANTEES = (
    Guarantee(
        "intact",
        ("signature", "statement", "name", "shape", "contents", "provenance"),
        "a trusted key signed it, and every byte is as it was signed",
    ),
    Guarantee(
        "complete",
        ("evidence", "declared", "origins", "complete"),
        "everything that the plan asked for is there, or there is a reason",
    ),
    Guarantee(
        "judged again",
        ("policy", "verdicts"),
        "the verdicts follow from the raw samples by the rules of this version",
    ),
    Guarantee("pages", ("texts",), "they say what the evidence says, byte for byte"),
    Guarantee(
        "gate first",
        ("machine", "gate", "binaries"),
        "each timed arm was correct before, by the same binary on the same GPU",
    ),
    Guarantee(
        "same binaries",
        ("sources", "rebuild"),
        "these sources compile to the recorded hashes; that those ran, nobody can show",
        "--rebuild compiles the sources again",
    ),
)
"""In this order; each check belongs to one."""


def verification_record(
    report: str, log: VerificationLog, error: AssayError | None = None
) -> VerificationRecord:
    """Return what verifying ``report`` came to; ``error`` is what ended it."""
    signed = log.signed
    predicate = None if signed is None else signed.statement.predicate
    return VerificationRecord(
        schema="assay/verification/2",
        report=shown_line(report),
        verified=error is None,
        exit_code=int(ExitCode.DONE if error is None else error.exit_code),
        code=None if error is None else error.code,
        error=None if error is None else shown_sentence(str(error)),
        run=None if predicate is None else predicate.run,
        commit=None if predicate is None else predicate.commit,
        created=None if predicate is None else predicate.created,
        project=None if predicate is None else predicate.project,
        project_title=shown_line(log.project_title) if log.project_title else None,
        signers=tuple(
            SignerEntry(keyid=each.keyid, name=shown_line(each.name))
            for each in (() if signed is None else (signed.signer,))
        ),
        guarantees=tuple(_guaranteed(log.checks)),
        checks=tuple(log.checks),
        notes=tuple(map(shown_line, log.notes)),
    )


def _guaranteed(checks: Sequence[CheckEntry]) -> Iterator[GuaranteeEntry]:
    """Yield each guarantee in the worst state of its checks; without any nobody looked at it."""
    for guarantee in GUARANTEES:
        mine = [check for check in checks if check.id in guarantee.checks]
        states = {check.state for check in mine} or {ProofState.NOT_CHECKED}
        state = next(state for state in WORST_FIRST if state in states)
        says = shown_line(_says(guarantee, state, mine))
        yield GuaranteeEntry(id=guarantee.name, state=state, says=says)


def _says(guarantee: Guarantee, state: ProofState, checks: Sequence[CheckEntry]) -> str:
    if state is ProofState.FAILED:
        return ", ".join(check.id for check in checks if check.state is state)
    if state is ProofState.NOT_CHECKED:
        skipped = [check.says for check in checks if check.state is state]
        return skipped[0].removeprefix("not checked, ") if skipped else guarantee.unasked
    left = any(check.unproven for check in checks)
    return f"{guarantee.says}{', but for what is unproven above' if left else ''}"

"""The result of verifying as a tree: what rests on what, from the verifier's key outwards. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.base.check_log import NamedCheck
from assay.base.errors import AssayError
from assay.base.printable import shown_line, shown_sentence
from assay.records.verification import (
    CheckEntry,
    NodeId,
    ProofNode,
    ProofState,
    SignerEntry,
    VerificationRecord,
)
from assay.shared.counting import agreeing, counted
from assay.shared.exit_codes import ExitCode
from assay.verification.derived_facts import CHECKS as DERIVED_CHECKS
from assay.verification.signed_files import SignedFiles
from assay.verification.verify import VerificationLog

SHORT = 12
"""Characters of a commit or a key id in a line of the tree."""


@dataclass(frozen=True)
class _Rests:
    """A part of a report: its checks, what rests on it, and why it may not have been looked at."""

    id: NodeId
    checks: tuple[str, ...]
    parts: tuple["_Rests", ...] = ()
    unasked: str = "nobody looked at it"


_PAGES = _Rests("pages", ("texts",), unasked="nobody rendered them again")
_BINARIES = _Rests("binaries", ("rebuild",), unasked="--rebuild compiles them again")
_RECORDS = _Rests(
    "records",
    ("evidence", "declared", "origins", "policy", "complete", *DERIVED_CHECKS, "provenance"),
    (
        _Rests("verdicts", ("verdicts",), (_PAGES,)),
        _Rests("sources", ("sources",), (_BINARIES,), unasked="--rebuild looks for them"),
    ),
)
_KEY = _Rests(
    "key",
    ("signature",),
    (
        _Rests(
            "statement",
            ("statement", "name"),
            (_Rests("manifest", ("shape", "contents"), (_RECORDS,)),),
        ),
    ),
)
"""Every check of verifying stands here once."""


def check_names() -> tuple[str, ...]:
    """Return the names of all checks, part by part."""
    return tuple(_names(_KEY))


def _names(part: _Rests) -> Iterator[str]:
    yield from part.checks
    for each in part.parts:
        yield from _names(each)


def verification_record(
    report: str, log: VerificationLog, error: AssayError | None = None
) -> VerificationRecord:
    """Return what verifying ``report`` came to; ``error`` is what ended it."""
    signed = log.signed
    predicate = None if signed is None else signed.statement.predicate
    return VerificationRecord(
        schema="assay/verification/1",
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
            for each in (() if signed is None else signed.signers)
        ),
        proof=_node(_KEY, {check.name: check for check in log.checks}, signed),
        unchecked=(),
        notes=tuple(map(shown_line, log.notes)),
    )


def _node(part: _Rests, checks: dict[str, NamedCheck], signed: SignedFiles | None) -> ProofNode:
    mine = [checks[name] for name in part.checks if name in checks]
    state = worst_state(mine)
    return ProofNode(
        id=part.id,
        state=state,
        says=shown_line(_says(part, state, mine, signed)),
        checks=tuple(map(_entry, mine)),
        children=tuple(_node(each, checks, signed) for each in part.parts),
    )


def _entry(check: NamedCheck) -> CheckEntry:
    return CheckEntry(
        id=check.name,
        state=check.state,
        code=check.code or None,
        says=shown_line(check.detail),
        unproven=tuple(map(shown_line, check.unproven)),
    )


def worst_state(checks: Sequence[NamedCheck]) -> ProofState:
    """Return the worst state of a part's checks; without any it was not looked at."""
    states = {check.state for check in checks} or {ProofState.NOT_CHECKED}
    order = (ProofState.FAILED, ProofState.NOT_CHECKED, ProofState.UNPROVEN, ProofState.PROVEN)
    return next(state for state in order if state in states)


def _says(
    part: _Rests, state: ProofState, checks: Sequence[NamedCheck], signed: SignedFiles | None
) -> str:
    """Say in short what was found of a part."""
    if state is ProofState.FAILED:
        failed = [check for check in checks if check.state is state]
        return ", ".join(
            check.name if check.code == check.name else f"{check.name} ({check.code})"
            for check in failed
        )
    if state is ProofState.NOT_CHECKED:
        skipped = [check.detail for check in checks if check.state is state]
        return skipped[0].removeprefix("not checked, ") if skipped else part.unasked
    if state is ProofState.UNPROVEN:
        left = [check.name for check in checks if check.unproven]
        if len(checks) == 1:
            return checks[0].short or "nothing here could prove it"
        rest = agreeing(len(left), "leaves", "leave")
        of = counted(len(checks), "check")
        return f"{len(left)} of {of} {rest} something unproven: {', '.join(left)}"
    return _proven(part.id, checks, signed)


def _proven(part: NodeId, checks: Sequence[NamedCheck], signed: SignedFiles | None) -> str:
    """Say in short what a proven part is."""
    if len(checks) > 1 and part == "records":
        return counted(len(checks), "check")
    if signed is None or part not in ("key", "statement", "manifest"):
        return checks[-1].short
    predicate = signed.statement.predicate
    commit = f"commit {predicate.commit[:SHORT]}" if predicate.commit else "an unknown commit"
    told = {
        "key": ", ".join(f"{each.keyid[:SHORT]} ({each.name})" for each in signed.signers),
        "statement": f"run {predicate.run}, {predicate.created}, {commit}",
        "manifest": counted(len(signed.manifest.files), "file"),
    }
    return told[part]

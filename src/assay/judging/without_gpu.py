"""Verdicts that need no GPU: arithmetic, counts in a file, the code that binaries hold."""

import re
from collections.abc import Sequence
from typing import Any

from assay.base.errors import BadInput
from assay.catalog.model import claim_files
from assay.evidence.stages import inspections_path
from assay.judging.case import Case, Failure, not_run, verdict
from assay.judging.printed_figures import audit
from assay.judging.what_ran import version_words
from assay.records.arithmetic import Operand
from assay.records.builds import ArchCode, DeviceCodeResult
from assay.records.claims import Audit, Claim, Relation
from assay.records.evaluations import Arithmetic, DeviceCode, Inspection, NotRun
from assay.records.plan import Answer
from assay.records.rivals import Rival
from assay.records.verdicts import Status, Verdict, Why
from assay.shared.counting import counted


def judge_arithmetic(case: Case, answer: Answer, claim: Claim, evaluation: Arithmetic) -> Verdict:
    """Judge a printed figure that is recomputed from others of its source."""
    printed = Operand(claim=claim.id) if evaluation.formula.claims_a_figure else None
    return _audited(case, answer, evaluation, printed, claim.note, claim)


def judge_audit(case: Case, answer: Answer, entry: Audit) -> Verdict:
    """Judge a relation between figures that is no printed figure itself, in a source or across."""
    assumed = f"Assumed is {entry.assumes}." if entry.assumes else None
    note = " ".join(filter(None, (assumed, entry.note)))
    return _audited(case, answer, entry, entry.claimed, note)


def _audited(
    case: Case,
    answer: Answer,
    entry: Arithmetic | Audit,
    printed: Operand | None,
    note: str | None,
    claim: Claim | None = None,
) -> Verdict:
    relation = claim.relation if claim else Relation.EQUALS
    try:
        result = audit(entry.formula, entry.operands, printed, case.catalog.claims, relation)
    except ValueError as error:
        raise BadInput(f"'{answer.claim}': {error}") from error
    measured = None
    if result.recomputed is not None and result.claimed is not None:  # both in base units
        measured = result.recomputed.value
        measured *= 1 / claim.unit.facts.factor if claim and claim.unit else 1.0
    stated: dict[str, Any] = (
        {} if claim else {"claimed": result.claimed.value if result.claimed else None}
    )
    sentence = result.sentence[:1].upper() + result.sentence[1:]
    return verdict(
        case,
        answer,
        Status.CONSISTENT if result.consistent else Status.INCONSISTENT,
        f"{sentence} {note}" if note else sentence,
        claim=claim,
        measured=measured,
        artifact="arithmetic",
        evidence=claim_files(case.catalog, _sources(case, answer, entry.operands)),
        **stated,
    )


def _sources(case: Case, answer: Answer, operands: Sequence[Operand]) -> tuple[str, ...]:
    """Return the source of the answer and those that its operands come from, sorted after it."""
    own = case.catalog.source_of[answer.claim]
    parts = [part for operand in operands for part in operand.parts()]
    named = {case.catalog.source_of[part.claim] for part in parts if part.claim is not None}
    named |= {part.place.source for part in parts if part.place and part.place.source}
    return (own, *sorted(named - {own}))


def judge_inspection(
    case: Case, answer: Answer, claim: Claim, evaluation: Inspection
) -> Verdict | Failure:
    """Judge an exact count; says so when the claimed number is another quantity of the file."""
    found = case.evidence.inspections.get(claim.id)
    asked = (evaluation.package, evaluation.path)
    if found is None or (found.package, found.path) != asked:
        text = f"{evaluation.path} of {evaluation.package} was not inspected in this run."
        return not_run(NotRun.NOT_RECORDED, text)
    counts = {"lines": found.lines, "bytes": found.bytes}
    if evaluation.text is not None:
        if found.text != evaluation.text or found.matches is None:
            text = f"{evaluation.path} was not searched for '{evaluation.text}' in this run."
            return not_run(NotRun.NOT_RECORDED, text)
        counts["matches"] = found.matches
    measured = counts[evaluation.quantity]
    claimed = claim.value or 0.0
    agrees = {
        Relation.EQUALS: measured == claimed,
        Relation.SAME: measured == claimed,
        Relation.AT_LEAST: measured >= claimed,
        Relation.AT_MOST: measured <= claimed,
    }[claim.relation]
    told = f"{measured} {evaluation.quantity}"
    if found.text is not None:
        told = f"'{found.text}' in {counted(measured, 'place')}"
    bound = {Relation.AT_LEAST: "at least ", Relation.AT_MOST: "at most "}.get(claim.relation, "")
    text = (
        f"{found.path} of {found.package} {found.version} has {told}; "
        f"the source says {bound}{claim.as_printed}."
    )
    if version := version_words(claim, found.package, found.version):
        text += f" {version}"
    alike = [name for name, n in counts.items() if name != evaluation.quantity and n == claimed]
    if not agrees and alike:
        text += f" That is its size in {alike[0]}."
    return verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        text,
        claim=claim,
        measured=float(measured),
        artifact="inspection",
        reason="other_quantity" if not agrees and alike else None,
        ran=f"{found.path} (SHA-256 {found.sha256})",
        evidence=(_recorded_at(case, claim),),
    )


def judge_device_code(
    case: Case, answer: Answer, claim: Claim, evaluation: DeviceCode
) -> Verdict | Failure:
    """Return whether a GPU of an architecture would find the kernels that matter in a package."""
    found = case.evidence.device_code.get(claim.id)
    rival = case.catalog.rivals[evaluation.rival]
    if found is None or (found.rival, found.kernels) != (rival.id, evaluation.kernels):
        text = f"The binaries of {rival.title} were not looked into in this run."
        return not_run(NotRun.NOT_RECORDED, text)
    if found.status == "not_installed":
        text = (
            f"{rival.title} is not installed where its binaries were looked for, the device's "
            f"Python. {rival.how_to_get()}"
        )
        return not_run(NotRun.NOT_INSTALLED, text, (_recorded_at(case, claim),))
    if found.status == "failed":
        text = f"The binaries of {rival.title} could not be looked into: {found.detail}."
        return not_run(NotRun.RUN_FAILED, text, (_recorded_at(case, claim),))
    return _device_code(case, answer, claim, evaluation, rival, found)


def _recorded_at(case: Case, claim: Claim) -> str:
    return case.evidence.inspection_paths.get(claim.id, inspections_path())


def _device_code(
    case: Case,
    answer: Answer,
    claim: Claim,
    evaluation: DeviceCode,
    rival: Rival,
    found: DeviceCodeResult,
) -> Verdict:
    loaded = [code for code in found.code if loads(code, evaluation.arch) and code.kernels]
    outcome = "present" if loaded else "absent"
    held = ", ".join(
        f"{code.kernels} for {code.arch}{' as PTX' if code.form == 'ptx' else ''}"
        for code in found.code
    )
    finding = (
        f"Those for {' and '.join(code.arch for code in loaded)} load on {evaluation.arch}."
        if loaded
        else f"None of them loads on {evaluation.arch}."
    )
    agrees = outcome == evaluation.expect
    text = (
        f"By one build alone, of which nothing ran: the binaries of {found.package} "
        f"{found.version} hold kernels named "
        f"{evaluation.kernels}*: {held or 'none at all'}. {finding} That is "
        f"{'as' if agrees else 'other than'} stated"
        f"{'' if agrees else ', and does not decide it: another build may hold other code'}. It is "
        f"a build of {rival.title}."
    )
    result = verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.INCONCLUSIVE,
        f"{text} {claim.note}" if claim.note else text,
        claim=claim,
        measured=outcome,
        reason=None if agrees else Why.ONE_BUILD.value,
        artifact="library",
        binary_sha256=found.objects[0].sha256 if len(found.objects) == 1 else None,
        ran=f"{found.tool} over {', '.join(each.path for each in found.objects)}",
        evidence=(_recorded_at(case, claim),),
    )
    return result if agrees else result.model_copy(update={"why": Why.ONE_BUILD})


_ARCH = re.compile(r"sm_(?P<major>[0-9]{1,2})(?P<minor>[0-9])(?P<suffix>[af]?)")


def loads(code: ArchCode, arch: str) -> bool:
    """Return whether a GPU of ``arch`` loads device code made for another architecture.

    Machine code runs on the same major version from its minor one on; with the suffix ``a`` on that
    very architecture, with ``f`` as without. PTX is compiled for any later one, but for ``a``.
    """
    made, gpu = _ARCH.fullmatch(code.arch), _ARCH.fullmatch(arch)
    if made is None or gpu is None:
        return False
    there = int(made["major"]), int(made["minor"])
    here = int(gpu["major"]), int(gpu["minor"])
    if made["suffix"] == "a":
        return there == here
    if code.form == "ptx" and not made["suffix"]:
        return there <= here
    return there[0] == here[0] and there <= here

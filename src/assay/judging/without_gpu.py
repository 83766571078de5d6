"""Verdicts that need no GPU: arithmetic, support probes, counts in a package's file."""

from collections.abc import Sequence

from assay.base.errors import BadInput
from assay.catalog.model import claim_files
from assay.evidence.model import build_of
from assay.evidence.stages import build_path, inspections_path
from assay.judging.audit import AuditResult, audit
from assay.judging.case import Case, Failure, not_run, verdict
from assay.judging.gates import last_words
from assay.judging.versions import version_words
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import (
    Audit,
    Claim,
    Relation,
)
from assay.records.evaluations import (
    Arithmetic,
    Inspection,
    NotRun,
    Support,
)
from assay.records.plan import Answer
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict
from assay.shared.counting import counted


def judge_arithmetic(case: Case, answer: Answer, claim: Claim, evaluation: Arithmetic) -> Verdict:
    """Judge a printed figure that is recomputed from others of its source."""
    printed = Operand(claim=claim.id) if evaluation.formula.claims_a_figure else None
    result = _audit(
        case, claim.id, evaluation.formula, evaluation.operands, printed, claim.relation
    )
    sources = _sources(case, answer, evaluation.operands)
    return _consistency(
        case, answer, result, claim.value, claim.unit, claim.relation, claim.note, sources
    )


def judge_audit(case: Case, answer: Answer, entry: Audit) -> Verdict:
    """Judge a relation between figures that is no printed figure itself, in a source or across."""
    result = _audit(case, entry.id, entry.formula, entry.operands, entry.claimed, Relation.EQUALS)
    printed = result.claimed.value if result.claimed else None
    sources = _sources(case, answer, entry.operands)
    assumed = f"Assumed is {entry.assumes}." if entry.assumes else None
    note = " ".join(filter(None, (assumed, entry.note))) or None
    return _consistency(case, answer, result, printed, None, Relation.EQUALS, note, sources)


def _sources(case: Case, answer: Answer, operands: Sequence[Operand]) -> tuple[str, ...]:
    """Return the source of the answer and those that its operands come from, sorted after it."""
    own = case.catalog.source_of[answer.claim]
    parts = [part for operand in operands for part in operand.parts()]
    named = {case.catalog.source_of[part.claim] for part in parts if part.claim is not None}
    named |= {part.place.source for part in parts if part.place and part.place.source}
    return (own, *sorted(named - {own}))


def _audit(
    case: Case,
    name: str,
    formula: Formula,
    operands: Sequence[Operand],
    printed: Operand | None,
    relation: Relation,
) -> AuditResult:
    try:
        return audit(formula, operands, printed, case.catalog.claims, relation)
    except ValueError as error:
        raise BadInput(f"'{name}': {error}") from error


def _consistency(
    case: Case,
    answer: Answer,
    result: AuditResult,
    printed: float | None,
    unit: Unit | None,
    relation: Relation,
    note: str | None,
    sources: Sequence[str],
) -> Verdict:
    sentence = result.sentence[:1].upper() + result.sentence[1:]
    return verdict(
        case,
        answer,
        Status.CONSISTENT if result.consistent else Status.INCONSISTENT,
        f"{sentence} {note}" if note else sentence,
        claimed=printed,
        measured=_in_unit(result, unit),
        unit=unit,
        artifact="arithmetic",
        relation=relation,
        evidence=claim_files(case.catalog, sources),
    )


def _in_unit(result: AuditResult, unit: Unit | None) -> float | None:
    """The recomputed value in the claim's own unit (the audit computes in base units)."""
    if result.recomputed is None or result.claimed is None:
        return None
    return result.recomputed.value * (1 / unit.facts.factor if unit else 1.0)


def judge_support(
    case: Case, answer: Answer, claim: Claim, evaluation: Support
) -> Verdict | Failure:
    """Return whether a probe compiles for an architecture, with the compiler's words when it does
    not.
    """
    key = (evaluation.probe, evaluation.arch)
    build = build_of(case.evidence, *key)
    if build is None:
        return not_run(NotRun.NOT_RECORDED, _not_compiled(case, evaluation))
    if not build.had_compiler:  # which is no refusal
        text = f"{evaluation.probe} was not compiled: {last_words(build.diagnostics)}"
        return not_run(NotRun.BUILD_FAILED, text)
    outcome = "builds" if build.status == "built" else "fails"
    agrees = outcome == evaluation.expect
    words = "" if outcome == "builds" else f" nvcc says: {last_words(build.diagnostics)}"
    text = (
        f"{evaluation.probe} {'compiles' if outcome == 'builds' else 'does not compile'} for "
        f"{evaluation.arch} with nvcc {build.toolchain.nvcc}, "
        f"{'as' if agrees else 'other than'} stated.{words}"
    )
    if outcome == "builds":
        text += _told_runs(case, evaluation)
    if evaluation.probe in case.catalog.programs:
        package = case.catalog.programs[evaluation.probe].package
        version = version_words(claim, package, build.toolchain.wheels.get(package))
        text += f" {version}" if version else ""
    recorded = None if key in case.evidence.builds else case.evidence.recorded_builds[key]
    if recorded is not None:
        text += (
            f" It was compiled for {recorded.recorded_in}, from this source by this command, and "
            "not again in this run."
        )
    original = evaluation.probe in case.catalog.programs
    return verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        text,
        claimed=evaluation.expect,
        measured=outcome,
        artifact="original" if original else "reimplemented",
        relation=claim.relation,
        binary_sha256=build.artifact.sha256 if build.artifact else None,
        ran=f"nvcc for {evaluation.arch}",
        evidence=(recorded.path if recorded else build_path(*key),),
    )


def _told_runs(case: Case, evaluation: Support) -> str:
    """Return a sentence on what ran of a program that compiles: a build says nothing of a run."""
    if evaluation.probe not in case.catalog.programs:
        return ""
    told = []
    for target in case.catalog.targets.values():
        runs = [
            run
            for (on, _), record in case.evidence.programs.items()
            if (on, record.program, target.arch) == (target.id, evaluation.probe, evaluation.arch)
            for run in record.runs
        ]
        ended = sum(run.exit_code == 0 for run in runs)
        if runs:
            told.append(f"on {target.product} {ended} of {counted(len(runs), 'run')}")
    if told:
        return f" It was run too: {' and '.join(told)} ended without an error."
    return f" Nothing of it ran on a GPU of {evaluation.arch} for this."


def _not_compiled(case: Case, evaluation: Support) -> str:
    left = {(job.id, job.arch) for job in case.evidence.plan.not_compiled}
    if (evaluation.probe, evaluation.arch) in left:
        return (
            f"{evaluation.probe} was not compiled for {evaluation.arch} in this run, and no report "
            "that its figures come from holds a build of the same source by the same command: "
            "./assay reproduce --rebuild compiles it."
        )
    return f"No build of {evaluation.probe} for {evaluation.arch} is among the evidence."


def judge_inspection(
    case: Case, answer: Answer, claim: Claim, evaluation: Inspection
) -> Verdict | Failure:
    """Judge an exact count; says so when the claimed number is another quantity of the file."""
    found = case.evidence.inspections.get(claim.id)
    if found is None:
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
        claimed=claim.value,
        measured=float(measured),
        unit=claim.unit,
        artifact="inspection",
        reason="other_quantity" if not agrees and alike else None,
        relation=claim.relation,
        ran=f"{found.path} (SHA-256 {found.sha256})",
        evidence=(inspections_path(),),
    )

"""Verdicts that need no GPU: arithmetic, counts in a file, what compiles, what binaries hold."""

import re
from collections.abc import Sequence

from assay.base.errors import BadInput
from assay.base.printable import capital
from assay.catalog.model import claim_files
from assay.evidence.model import build_of
from assay.evidence.stages import build_path, inspections_path
from assay.judging.case import SHOWN, Case, Failure, Question, not_run, stated_value
from assay.judging.gates import last_words
from assay.judging.measured import nearest
from assay.judging.printed_figures import audit
from assay.judging.what_ran import compiler_words, version_words
from assay.records import evaluations as ways
from assay.records.arithmetic import Operand
from assay.records.builds import ArchCode, DeviceCodeResult
from assay.records.claims import Audit, Relation
from assay.records.evaluations import NotRun
from assay.records.originals import FileCompileRecord
from assay.records.verdicts import Status, Verdict, Why
from assay.shared.counting import counted


def judge_arithmetic(ask: Question, evaluation: ways.Arithmetic) -> Verdict:
    """Judge a printed figure that is recomputed from others of its source."""
    return _audited(ask, evaluation, Operand(claim=ask.claim.id), ask.claim.note)


def judge_audit(ask: Question, entry: Audit) -> Verdict:
    """Judge a relation between figures that is no printed figure itself, in a source or across."""
    assumed = f"Assumed is {entry.assumes}." if entry.assumes else None
    return _audited(ask, entry, entry.claimed, " ".join(filter(None, (assumed, entry.note))))


def _audited(
    ask: Question, entry: ways.Arithmetic | Audit, printed: Operand | None, note: str | None
) -> Verdict:
    claim, catalog = ask.stated, ask.case.catalog
    relation = claim.relation if claim else Relation.EQUALS
    try:
        result = audit(entry.formula, entry.operands, printed, catalog.claims, relation)
    except ValueError as error:
        raise BadInput(f"'{ask.answer.claim}': {error}") from error
    measured = None
    if result.recomputed is not None and result.claimed is not None:  # both in base units
        measured = result.recomputed.value
        measured *= 1 / claim.unit.facts.factor if claim and claim.unit else 1.0
    claimed = result.claimed.value if result.claimed else None
    sentence = capital(result.sentence)
    return ask.verdict(
        Status.CONSISTENT if result.consistent else Status.INCONSISTENT,
        f"{sentence} {note}" if note else sentence,
        claimed=stated_value(claim) if claim else claimed,
        measured=measured,
        artifact="arithmetic",
        evidence=claim_files(catalog, _sources(ask, entry.operands)),
    )


def _sources(ask: Question, operands: Sequence[Operand]) -> tuple[str, ...]:
    """Return the source of the answer and those that its operands come from, sorted after it."""
    source_of = ask.case.catalog.source_of
    own = source_of[ask.answer.claim]
    parts = [part for operand in operands for part in operand.parts()]
    named = {source_of[part.claim] for part in parts if part.claim is not None}
    named |= {part.place.source for part in parts if part.place and part.place.source}
    return (own, *sorted(named - {own}))


def judge_inspection(ask: Question, evaluation: ways.Inspection) -> Verdict | Failure:
    """Judge an exact count; says so when the claimed number is another quantity of the file."""
    claim = ask.claim
    found = ask.case.evidence.inspections.get(claim.id)
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
    measured, claimed = counts[evaluation.quantity], claim.value or 0.0
    agrees, bound = {
        Relation.AT_LEAST: (measured >= claimed, "at least "),
        Relation.AT_MOST: (measured <= claimed, "at most "),
    }.get(claim.relation, (measured == claimed, ""))
    told = f"{measured} {evaluation.quantity}"
    if found.text is not None:
        told = f"'{found.text}' in {counted(measured, 'place')}"
    text = (
        f"{found.path} of {found.package} {found.version} has {told}; "
        f"the source says {bound}{claim.as_printed}."
    )
    if version := version_words(claim, found.package, found.version):
        text += f" {version}"
    alike = [name for name, n in counts.items() if name != evaluation.quantity and n == claimed]
    if not agrees and alike:
        text += f" That is its size in {alike[0]}."
    return ask.verdict(
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        text,
        measured=float(measured),
        artifact="inspection",
        reason="other_quantity" if not agrees and alike else None,
        ran=f"{found.path} (SHA-256 {found.sha256})",
        evidence=(_recorded_at(ask),),
    )


def judge_compiles(ask: Question, evaluation: ways.Compiles) -> Verdict | Failure:
    """Return whether a file compiles as published, or is refused in the words that are claimed."""
    evidence, key = ask.case.evidence, (evaluation.compilation, evaluation.arch)
    found, path = evidence.file_compiles.get(key), evidence.file_compile_paths.get(key)
    if found is None or path is None:
        text = f"No compilation of {evaluation.compilation} for {evaluation.arch} is recorded."
        return not_run(NotRun.NOT_RECORDED, text)
    outcome: str = found.outcome
    if evaluation.text is not None:
        shown = [line for line in found.words if evaluation.text in line]
        if not shown and found.exit_code and found.cut:
            text = (
                f"Among the words that are kept none says '{evaluation.text}', and the compiler "
                "said more."
            )
            return not_run(NotRun.NOT_RECORDED, text, (path,))
        outcome = SHOWN if shown and found.exit_code else "not shown"
    agrees = outcome == stated_value(ask.claim)
    return ask.verdict(
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        _told(found, evaluation, agrees=agrees),
        measured=outcome,
        artifact="original",
        ran=f"nvcc for {evaluation.arch} over {found.file} (SHA-256 {found.file_sha256})",
        nearest=nearest(ask.case, ask.claim),
        evidence=(path,),
    )


def _told(found: FileCompileRecord, evaluation: ways.Compiles, *, agrees: bool) -> str:
    """Return what was compiled by which line, what came of it, and the words that say so."""
    compiled = "compiles" if found.exit_code == 0 else "does not compile"
    sentences = [
        f"{found.file} (SHA-256 {found.file_sha256}), as published, {compiled} for {found.arch} "
        f"with nvcc {found.toolchain.nvcc}"
    ]
    if evaluation.text is None:
        sentences[0] += f", {'as' if agrees else 'other than'} stated."
        quoted = found.words[:1]
    else:
        shown = tuple(line for line in found.words if evaluation.text in line)
        where = f"in {counted(len(shown), 'error')}" if shown else "nowhere"
        sentences[0] += f"; nvcc says '{evaluation.text}' {where}."
        quoted = shown[:1] or found.words[:1]
    if found.exit_code:
        more = " and more" if found.cut else ""
        sentences.append(f"It found {counted(len(found.words), 'error')}{more}.")
        sentences += [f"nvcc says: {line.rstrip('.')}." for line in quoted]
    sentences.append(
        f"The source types no line that compiles it; ours: `{' '.join(found.command)}`. "
        "Nothing of it ran."
    )
    return " ".join(sentences)


def judge_support(ask: Question, evaluation: ways.Support) -> Verdict | Failure:
    """Return whether a probe compiles for an architecture, with the compiler's words when it does
    not.
    """
    case, claim, probe = ask.case, ask.claim, evaluation.probe
    key = (probe, evaluation.arch)
    build = build_of(case.evidence, *key)
    if build is None:
        return not_run(NotRun.NOT_RECORDED, _not_compiled(case, evaluation))
    built = build.status == "built"
    outcome = "builds" if built else "fails"
    agrees = outcome == evaluation.expect
    program = case.catalog.programs.get(probe)
    sentences = [
        f"{probe} {'compiles' if built else 'does not compile'} for {evaluation.arch}, "
        f"{'as' if agrees else 'other than'} stated, with nvcc {build.toolchain.nvcc}.",
        "" if built else f"nvcc says: {last_words(build.diagnostics)}",
    ]
    if program is not None:
        sentences += [
            _told_runs(case, evaluation) if built else "",
            version_words(claim, program.package, build.toolchain.wheels.get(program.package)),
            compiler_words(claim, build.toolchain.nvcc),
        ]
    recorded = None if key in case.evidence.builds else case.evidence.recorded_builds[key]
    if recorded is not None:
        sentences.append(
            f"It was compiled for {recorded.recorded_in}, from this source by this command, and "
            "not again in this run."
        )
    return ask.verdict(
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        " ".join(filter(None, sentences)),
        measured=outcome,
        artifact="original" if program else "reimplemented",
        binary_sha256=build.artifact.sha256 if build.artifact else None,
        ran=f"nvcc for {evaluation.arch}",
        nearest=nearest(case, claim),
        evidence=(recorded.path if recorded else build_path(*key),),
    )


def _told_runs(case: Case, evaluation: ways.Support) -> str:
    """Return a sentence on what ran of a program that compiles: a build says nothing of a run."""
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
        return f"It was run too: {' and '.join(told)} ended without an error."
    return f"Nothing of it ran on a GPU of {evaluation.arch} for this."


def _not_compiled(case: Case, evaluation: ways.Support) -> str:
    left = {(job.id, job.arch) for job in case.evidence.plan.not_compiled}
    if (evaluation.probe, evaluation.arch) in left:
        return (
            f"{evaluation.probe} was not compiled for {evaluation.arch} in this run, and no report "
            "that its figures come from holds a build of the same source by the same command: "
            "./assay reproduce --rebuild compiles it."
        )
    return f"No build of {evaluation.probe} for {evaluation.arch} is among the evidence."


def judge_device_code(ask: Question, evaluation: ways.DeviceCode) -> Verdict | Failure:
    """Return whether a GPU of an architecture would find the kernels that matter in a package."""
    found = ask.case.evidence.device_code.get(ask.claim.id)
    rival = ask.case.catalog.rivals[evaluation.rival]
    if found is None or (found.rival, found.kernels) != (rival.id, evaluation.kernels):
        text = f"The binaries of {rival.title} were not looked into in this run."
        return not_run(NotRun.NOT_RECORDED, text)
    if found.status == "not_installed":
        text = (
            f"{rival.title} is not installed where its binaries were looked for, the device's "
            f"Python. {rival.how_to_get()}"
        )
        return not_run(NotRun.NOT_INSTALLED, text, (_recorded_at(ask),))
    if found.status == "failed":
        text = f"The binaries of {rival.title} could not be looked into: {found.detail}."
        return not_run(NotRun.RUN_FAILED, text, (_recorded_at(ask),))
    loaded = [code.arch for code in found.code if loads(code, evaluation.arch) and code.kernels]
    outcome = "present" if loaded else "absent"
    agrees, note = outcome == evaluation.expect, ask.claim.note
    result = ask.verdict(
        Status.REPRODUCED if agrees else Status.INCONCLUSIVE,
        _held(found, evaluation, loaded, agrees=agrees)
        + f" It is a build of {rival.title}.{f' {note}' if note else ''}",
        measured=outcome,
        reason=None if agrees else Why.ONE_BUILD.value,
        artifact="library",
        binary_sha256=found.objects[0].sha256 if len(found.objects) == 1 else None,
        ran=f"{found.tool} over {', '.join(each.path for each in found.objects)}",
        evidence=(_recorded_at(ask),),
    )
    return result if agrees else result.model_copy(update={"why": Why.ONE_BUILD})


def _recorded_at(ask: Question) -> str:
    return ask.case.evidence.inspection_paths.get(ask.claim.id, inspections_path())


def _held(
    found: DeviceCodeResult, evaluation: ways.DeviceCode, loaded: Sequence[str], *, agrees: bool
) -> str:
    """Return what device code a package's binaries hold, and what of it loads."""
    held = ", ".join(
        f"{code.kernels} for {code.arch}{' as PTX' if code.form == 'ptx' else ''}"
        for code in found.code
    )
    finding = f"None of them loads on {evaluation.arch}."
    if loaded:
        finding = f"Those for {' and '.join(loaded)} load on {evaluation.arch}."
    stated = "as stated."
    if not agrees:
        stated = "other than stated, and does not decide it: another build may hold other code."
    return (
        f"By one build alone, of which nothing ran: the binaries of {found.package} "
        f"{found.version} hold kernels named {evaluation.kernels}*: {held or 'none at all'}. "
        f"{finding} That is {stated}"
    )


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

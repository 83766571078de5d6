"""Verdicts on compilations: of probes of ours, and of files that a source publishes elsewhere."""

from assay.evidence.model import build_of
from assay.evidence.stages import build_path
from assay.judging.case import SHOWN, Case, Failure, not_run, stated_value, verdict
from assay.judging.gates import last_words
from assay.judging.what_ran import compiler_words, version_words
from assay.records.claims import Claim
from assay.records.evaluations import Compiles, NotRun, Support
from assay.records.originals import FileCompileRecord
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict
from assay.shared.counting import counted


def judge_compiles(
    case: Case, answer: Answer, claim: Claim, evaluation: Compiles
) -> Verdict | Failure:
    """Return whether a file compiles as published, or is refused in the words that are claimed."""
    key = (evaluation.compilation, evaluation.arch)
    found = case.evidence.file_compiles.get(key)
    path = case.evidence.file_compile_paths.get(key)
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
    agrees = outcome == stated_value(claim)
    return verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        _told(found, evaluation, agrees=agrees),
        claim=claim,
        measured=outcome,
        artifact="original",
        ran=f"nvcc for {evaluation.arch} over {found.file} (SHA-256 {found.file_sha256})",
        evidence=(path,),
    )


def _told(found: FileCompileRecord, evaluation: Compiles, *, agrees: bool) -> str:
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
        f"{evaluation.arch}, {'as' if agrees else 'other than'} stated, with nvcc "
        f"{build.toolchain.nvcc}.{words}"
    )
    if outcome == "builds":
        text += _told_runs(case, evaluation)
    if evaluation.probe in case.catalog.programs:
        package = case.catalog.programs[evaluation.probe].package
        version = version_words(claim, package, build.toolchain.wheels.get(package))
        cuda = compiler_words(claim, build.toolchain.nvcc)
        text += "".join(f" {words}" for words in (version, cuda) if words)
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
        claim=claim,
        measured=outcome,
        artifact="original" if original else "reimplemented",
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

"""Verdicts on files that a source publishes elsewhere: do they compile, and in what words not?"""

from assay.catalog.model import Catalog
from assay.catalog.published_files import published_file
from assay.judging.case import Case, Failure, not_run, verdict
from assay.records.claims import Claim
from assay.records.evaluations import Compiles, NotRun
from assay.records.file_compiles import FileCompileRecord
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict
from assay.shared.counting import counted

SHOWN, NOT_SHOWN = "shown", "not shown"
"""Outcomes where words are looked for."""


def claimed_outcome(evaluation: Compiles) -> str:
    """Return what a claim states, in a word."""
    return evaluation.expect if evaluation.text is None else SHOWN


def how_to_compile(catalog: Catalog, claim: Claim, evaluation: Compiles) -> str:
    """Return the sentence for a run without a checkout: what would answer the claim."""
    source = catalog.source_of[claim.id]
    published = published_file(catalog, source, evaluation.compilation)
    assert published is not None
    return (
        f"{published.file} is not in this repository ({published.public}): give a checkout with "
        f"--original {source}=DIR and --runtime host, and it is compiled for {evaluation.arch} as "
        "published; that needs no GPU."
    )


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
        outcome = SHOWN if shown and found.exit_code else NOT_SHOWN
    agrees = outcome == claimed_outcome(evaluation)
    return verdict(
        case,
        answer,
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        _told(found, evaluation, agrees=agrees),
        claimed=claimed_outcome(evaluation),
        measured=outcome,
        artifact="original",
        relation=claim.relation,
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

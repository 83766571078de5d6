"""Verdicts on whether an original program passes its own check of what it computes."""

from assay.judging.case import Case, Failure, measured_on, not_run, verdict
from assay.judging.cutlass_output import job_id, parse
from assay.judging.program import measure_program
from assay.judging.program_verification import verification
from assay.judging.versions import program_version
from assay.records.claims import Claim
from assay.records.evaluations import PASSES, NotRun, Program
from assay.records.plan import Answer
from assay.records.verdicts import Status, Verdict


def judge_self_check(
    case: Case, answer: Answer, claim: Claim, evaluation: Program, target: str
) -> Verdict | Failure:
    """Return whether every run passed the program's own check; a run that failed it is incorrect,
    and one that nobody checked says nothing.
    """
    arguments = evaluation.stated.arguments
    runs = measure_program(case, target, evaluation, arguments, None)
    if isinstance(runs, Failure):
        return runs
    program = case.catalog.programs[evaluation.program]
    record = case.evidence.programs[target, job_id(program.id, arguments)]
    outputs = [parse(program.parser, run.stdout) for run in record.runs]
    checked = verification(program, record, outputs, runs.figure)
    paths = runs.measured.evidence
    if not checked.passed:
        return not_run(NotRun.RUN_FAILED, checked.words, paths)
    words = checked.words or f"{program.title} passes its own check in {len(outputs)} runs."
    return verdict(
        case,
        answer,
        Status.REPRODUCED,
        " ".join(filter(None, (words, program_version(case, target, claim, program.id)))),
        claimed=PASSES,
        measured=PASSES,
        artifact="original",
        relation=claim.relation,
        binary_sha256=runs.measured.binary_sha256,
        gpu_uuid=runs.measured.gpu_uuid,
        on=measured_on(case, target, runs.measured.gpu_uuid),
        ran=runs.measured.ran,
        evidence=paths,
    )

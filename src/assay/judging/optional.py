"""Verdicts on optional packages: does one run, and which architectures does it hold code for."""

import re

from assay.evidence.stages import inspections_path
from assay.judging.benchmark import evidence_paths
from assay.judging.case import Case, Failure, measured_on, not_run, verdict
from assay.judging.gates import absent, gate_correctness
from assay.judging.measured import nearest
from assay.judging.what_ran import what_ran
from assay.records.claims import Claim
from assay.records.evaluations import RUNS, DeviceCode, Execution, NotRun, Term
from assay.records.inspections import ArchCode, DeviceCodeResult
from assay.records.plan import Answer
from assay.records.rivals import Rival
from assay.records.verdicts import Status, Verdict, Why
from assay.records.workloads import Arm
from assay.shared.counting import counted

REFUSES = "refuses"
_ARCH = re.compile(r"sm_(?P<major>[0-9]{1,2})(?P<minor>[0-9])(?P<suffix>[af]?)")


def judge_execution(
    case: Case, answer: Answer, claim: Claim, evaluation: Execution, target: str
) -> Verdict | Failure:
    """Return whether every arm runs and passes the gate; no time is looked at.

    An arm that refuses the problem on this GPU contradicts the claim; one that crashed, or is not
    installed, says nothing of it.
    """
    paths = tuple(path for term in evaluation.terms for path in evidence_paths(case, target, term))
    words, refused, gpu = [], False, None
    for term in evaluation.terms:
        record = case.evidence.correctness.get((target, term.comparison))
        if record is None:
            return absent(case, target, case.catalog.comparisons[term.comparison], term, paths)
        failure, gpu = gate_correctness(case, record, term.arm, True, paths), record.gpu_uuid
        if failure is None:
            checks = sum(len(arm.checks) for arm in record.arms if arm.arm == term.arm)
            words.append(f"{_arm(case, term)} passes {counted(checks, 'check')}")
        elif failure.reason == NotRun.NOT_IN_BUILD.value:
            refused = True
            words.append(failure.explanation.rstrip("."))
        else:
            return failure
    platform = case.evidence.platforms.get(target)
    variants = [_planned(case, term).variant for term in evaluation.terms]
    return verdict(
        case,
        answer,
        Status.NOT_REPRODUCED if refused else Status.REPRODUCED,
        f"On {case.catalog.targets[target].product}: {'; '.join(words)}.",
        claimed=RUNS,
        measured=REFUSES if refused else RUNS,
        artifact=what_ran(case, target, variants).artifact,
        relation=claim.relation,
        gpu_uuid=gpu if platform else None,
        on=measured_on(case, target, gpu),
        ran="; ".join(_arm(case, term) for term in evaluation.terms),
        nearest=nearest(case, claim),
        evidence=paths,
    )


def _arm(case: Case, term: Term) -> str:
    arm = _planned(case, term)
    return f"{arm.variant} on {arm.workload}"


def _planned(case: Case, term: Term) -> Arm:
    return next(a for a in case.catalog.comparisons[term.comparison].arms if a.id == term.arm)


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
    return case.evidence.device_code_paths.get(claim.id, inspections_path())


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
        claimed=evaluation.expect,
        measured=outcome,
        reason=None if agrees else Why.ONE_BUILD.value,
        artifact="library",
        relation=claim.relation,
        binary_sha256=found.objects[0].sha256 if len(found.objects) == 1 else None,
        ran=f"{found.tool} over {', '.join(each.path for each in found.objects)}",
        evidence=(_recorded_at(case, claim),),
    )
    return result if agrees else result.model_copy(update={"why": Why.ONE_BUILD})


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

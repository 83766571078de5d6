"""Verdicts on what ran on a GPU: measured figures, outputs, checks, whether it runs at all."""

import re
from dataclasses import replace

from assay.base.errors import BadInput
from assay.evidence.stages import correctness_path
from assay.judging.benchmark import evidence_paths
from assay.judging.case import Case, Failure, Measured, Question, not_run, significant
from assay.judging.cutlass_output import job_id, parse
from assay.judging.decision import Decision, decide, margin_of
from assay.judging.gates import absent, gate_correctness
from assay.judging.measured import modes_sentence, nearest
from assay.judging.own_program import printed_beside, sides_of
from assay.judging.printed_figures import BOUNDS, from_base, to_base
from assay.judging.program import describe as describe_program
from assay.judging.program import measure_program, shape_matches, verification
from assay.judging.what_ran import program_version, versions_words, what_ran
from assay.records import evaluations as ways
from assay.records import units
from assay.records.claims import Claim, Relation
from assay.records.evaluations import NotRun, Program
from assay.records.measurements import ArmCorrectness
from assay.records.units import Unit, number, quantity
from assay.records.verdicts import Status, Verdict
from assay.shared.counting import counted


def judge_program(ask: Question, evaluation: Program) -> Verdict:
    """Judge the stated configuration; the command as typed is run, compared and told of."""
    case, claim, target = ask.case, ask.claim, ask.target
    asked = (target, evaluation.program, evaluation.figure)
    stated = measure_program(case, *asked, evaluation.stated.arguments, claim.counting)
    if isinstance(stated, Measured) and not shape_matches(stated.shape, evaluation.stated.shape):
        stated = _other_problem(evaluation, stated)
    typed: Measured | Failure | None = None
    same = evaluation.typed == evaluation.stated.arguments
    none = "The source types no command for this figure."
    words = "This is the command as typed." if same else none
    if evaluation.typed is not None and not same:
        typed = measure_program(case, *asked, evaluation.typed, None)
        words = _typed_words(claim, evaluation, typed)
    if isinstance(stated, Failure):
        # A typed run of the same problem never stands in: its arguments may differ in what the
        # program does not report (a mask, say).
        return case.adding(fail(ask, stated), words if typed else "")
    version = program_version(case, target, claim, evaluation.program)
    result = decided(ask, stated, words=f"{version} {words}".strip())
    return case.adding(result, evidence=typed.evidence if typed else ())


def _other_problem(evaluation: Program, runs: Measured) -> Failure:
    stated = describe_program(evaluation.stated.shape, evaluation.stated.arguments)
    text = (
        f"The program reports that it ran another problem ({runs.ran}) than the stated "
        f"one ({stated}): its figure answers nothing."
    )
    return Failure(
        Status.NOT_RUN,
        "other_shape",
        text,
        runs.evidence,
        ran=runs.ran,
        binary_sha256=runs.binary_sha256,
        gpu_uuid=runs.gpu_uuid,
        artifact="original",
    )


def _typed_words(claim: Claim, evaluation: Program, typed: Measured | Failure) -> str:
    if isinstance(typed, Failure):
        return f"The command as typed gave no figure: {typed.explanation}"
    unit = claim.unit or typed.unit
    value = quantity(typed.told_in(unit)[0], unit)
    if shape_matches(typed.shape, evaluation.stated.shape):
        what = "the stated problem with other arguments"
    else:
        what = "another problem than the source states"
    name = "" if typed.figure == evaluation.figure else f" ({typed.figure})"
    return f"The command as typed ran {what} ({typed.ran}) and printed {value}{name}."


def decision_on(case: Case, claim: Claim, measured: Measured) -> Decision:
    """Return how a measured quantity stands to the claimed figure."""
    claimed, unit = claimed_value(claim)
    to = None if claim.to is None else to_base(claim.to, claim.unit or unit)[0]
    return decide(measured, claimed, claim, case.catalog.judging, to)


def claimed_value(claim: Claim) -> tuple[float, Unit]:
    """Return the claim's figure in its base unit. Raises BadInput where it can have no ratio."""
    if claim.value is None or claim.unit is None:
        raise BadInput(f"claim '{claim.id}': a measured claim needs a value and a unit")
    value, base = to_base(claim.value, claim.unit)
    if value <= 0:
        raise BadInput(f"claim '{claim.id}': a measurement cannot be compared with a figure of 0")
    return value, base


FIGURES = re.compile(r"Measured \S.*? against the claimed \S.*?: ")
"""A verdict's figures in its explanation, up to how they stand to each other (``decided``)."""
REMEDY = re.compile(r" What would decide it: .*?\.(?= |$)")
"""The sentence of an open verdict on what would decide it."""


def decided(
    ask: Question, measured: Measured, decision: Decision | None = None, words: str = ""
) -> Verdict:
    """Return the verdict on a measured quantity, with every field filled."""
    case, claim = ask.case, ask.claim
    claimed, base = claimed_value(claim)
    if base is not measured.unit:
        raise BadInput(
            f"claim '{claim.id}': claimed in {base.value}, measured in {measured.unit.value}"
        )
    if decision is None:
        decision = decision_on(case, claim, measured)
    unit, judging = claim.unit or base, case.catalog.judging
    value, (low, high) = measured.told_in(unit)
    factor, read_in = units.readable(value, unit)
    stated = units.with_unit(claim.as_printed, unit)
    if read_in != unit:
        shown = units.short((claim.value or 0.0) * factor)
        stated = f'{units.with_unit(shown, read_in)} ("{stated}")'
    bound = "" if claim.to is not None else BOUNDS.get(claim.relation, "")
    sentences = [
        f"Measured {quantity(value, unit)} ({units.declared_percent(judging.confidence)} interval "
        f"{number(low * factor)} to {number(high * factor)}) against the claimed {stated}{bound}: "
        f"{decision.clause}.",
        f"What would decide it: {decision.remedy}." if decision.remedy else "",
        words,
        versions_words(case, ask.target, claim),
        modes_sentence(measured.summary, unit),
        *measured.notes,
        _beyond_roofline(claim, claimed, measured),
        "" if case.own_statement(claim.id) else _what_ran(ask, measured),
        claim.redefined or "",
    ]
    return ask.verdict(
        decision.status,
        " ".join(filter(None, sentences)),
        measured=value,
        interval=(low, high),
        artifact=measured.code.artifact,
        reason=decision.reason,
        margin=margin_of(claim, base, judging) if claim.relation.two_sided else None,
        noise_floor=measured.noise_floor,
        samples=measured.summary.samples,
        discarded_blocks=measured.summary.discarded_blocks,
        roofline_fraction=measured.roofline_fraction,
        binary_sha256=measured.binary_sha256,
        gpu_uuid=measured.gpu_uuid,
        ran=measured.ran,
        nearest=nearest(case, claim) if isinstance(claim.evaluation, ways.Benchmark) else (),
        evidence=measured.evidence,
    )


def _beyond_roofline(claim: Claim, claimed: float, measured: Measured) -> str:
    """A sentence when the claimed figure is more than the target's datasheet allows."""
    limit, less = measured.limit, measured.unit is Unit.MS
    if limit is None or not (claimed < limit if less else claimed > limit):
        return ""
    unit = claim.unit or measured.unit
    most = quantity(from_base(limit, unit), unit)
    return f"The claimed figure is beyond the roofline bound of what ran, {most}."


def _what_ran(ask: Question, measured: Measured) -> str:
    """Return which library ran, or what was rebuilt from; never that the original is wrong."""
    code = measured.code
    if code.artifact == "library":
        packages, called = "; ".join(code.packages), code.made_from or "as installed"
        return f"What ran is the library's own kernel, of its package {packages}: {called}."
    if code.artifact == "original":
        return ""
    built_from = (code.made_from or "the source's statements").rstrip(".")
    original = "the original program was not run"
    if ask.claim.kind.forecast:
        original = "the source forecasts it"
    meant = (ask.claim, *map(ask.claim.under, ask.claim.readings))
    sides = (side for each in meant for side in sides_of(ask.case, each))
    if any(printed_beside(ask.case, side, ask.target) for side in sides):
        original = "what the original program prints is a reading"
    return f"What ran was rebuilt here ({built_from}); {original}."


def fail(ask: Question, failure: Failure) -> Verdict:
    """Return the verdict where no quantity may be judged; shows what was measured elsewhere."""
    text = failure.explanation
    rebuilt = failure.artifact == "reimplemented" and not ask.case.own_statement(ask.claim.id)
    if failure.status is Status.INCORRECT and rebuilt:
        text += " What ran was rebuilt here; this says nothing of the original program."
    return ask.verdict(
        failure.status,
        text,
        artifact=failure.artifact,
        reason=failure.reason,
        binary_sha256=failure.binary_sha256,
        gpu_uuid=failure.gpu_uuid,
        ran=failure.ran,
        nearest=nearest(ask.case, ask.claim) if failure.status is Status.NOT_RUN else (),
        evidence=failure.evidence,
    )


REFUSES = "refuses"
AT_THE_TIMED_SHAPE = ("timed_shape", "repeat")
"""Checks of outputs at the workload's own shape, with first and with new contents."""


def judge_gate_figure(ask: Question, evaluation: ways.GateFigure) -> Verdict | Failure:
    """Return whether a figure of the gate keeps the claimed bound.

    The largest error of an arm's outputs, over every element that was checked; or the share of
    products that it does, counted. No interval belongs to either.
    """
    case, claim, target, term = ask.case, ask.claim, ask.target, evaluation.term
    paths = (correctness_path(target, term.comparison),)
    record = case.evidence.correctness.get((target, term.comparison))
    if record is None:
        return replace(absent(case, target, term), evidence=paths)
    if failed := gate_correctness(case, record, term.arm, True):
        return replace(failed, evidence=paths)
    arm = next(arm for arm in record.arms if arm.arm == term.arm)
    if evaluation.kind == "accuracy":
        found, explanation = _largest_error(ask, arm)
        most = claim.relation.two_sided or claim.relation is Relation.AT_MOST
    elif arm.true_product is None or not arm.true_product.true_products:
        text = f"The gate counted no products of {arm.variant} on {arm.workload}."
        return not_run(NotRun.NOT_RECORDED, text, paths)
    else:
        found, explanation = _share_of_products(claim, arm)
        most = claim.relation is Relation.AT_MOST
    claimed = claim.value or 0.0
    agrees = found <= claimed if most else found >= claimed
    return ask.verdict(
        Status.REPRODUCED if agrees else Status.NOT_REPRODUCED,
        explanation,
        measured=found,
        artifact=what_ran(case, target, [arm.variant]).artifact,
        gpu_uuid=record.gpu_uuid if case.evidence.platforms.get(target) else None,
        binary_sha256=arm.binary_sha256,
        ran=f"{arm.variant} on {arm.workload}",
        evidence=paths,
    )


def _largest_error(ask: Question, arm: ArmCorrectness) -> tuple[float, str]:
    errors = [
        check.max_abs_error
        for check in arm.checks
        if check.name in AT_THE_TIMED_SHAPE and check.max_abs_error is not None
    ]
    worst = max(errors)  # an arm that passed the gate has some
    return worst, (
        f"On {ask.case.catalog.targets[ask.target].product} no element of {arm.variant}'s output "
        f"on {arm.workload} is further from the oracle than {number(worst)}, in "
        f"{counted(len(errors), 'output')}; the source says {ask.claim.as_printed}."
    )


def _share_of_products(claim: Claim, arm: ArmCorrectness) -> tuple[float, str]:
    found = arm.true_product
    assert found is not None
    share, error = significant(100 * (1 - found.missed)), found.relative_error
    off = "" if error is None else f" Its output is off by {number(error)} of the right one's norm."
    return share, (
        f"{arm.variant} on {arm.workload} does {found.products} of the {found.true_products} "
        f"products of stored blocks that meet, {number(share)} %.{off}"
        f"{f' {claim.note}' if claim.note else ''}"
    )


def judge_execution(ask: Question, evaluation: ways.Execution) -> Verdict | Failure:
    """Return whether every arm runs and passes the gate; no time is looked at.

    An arm that refuses the problem on this GPU contradicts the claim; one that crashed, or is not
    installed, says nothing of it.
    """
    case, target = ask.case, ask.target
    paths = tuple(path for term in evaluation.terms for path in evidence_paths(case, target, term))
    arms = [case.catalog.comparisons[t.comparison].arm(t.arm) for t in evaluation.terms]
    names = [f"{arm.variant} on {arm.workload}" for arm in arms]
    words, refused, gpu = [], False, None
    for term, name in zip(evaluation.terms, names, strict=True):
        record = case.evidence.correctness.get((target, term.comparison))
        if record is None:
            return replace(absent(case, target, term), evidence=paths)
        failed, gpu = gate_correctness(case, record, term.arm, True), record.gpu_uuid
        if failed is None:
            checks = sum(len(arm.checks) for arm in record.arms if arm.arm == term.arm)
            words.append(f"{name} passes {counted(checks, 'check')}")
        elif failed.reason == NotRun.NOT_IN_BUILD.value:
            refused = True
            words.append(failed.explanation.rstrip("."))
        else:
            return replace(failed, evidence=paths)
    return ask.verdict(
        Status.NOT_REPRODUCED if refused else Status.REPRODUCED,
        f"On {case.catalog.targets[target].product}: {'; '.join(words)}.",
        measured=REFUSES if refused else ways.RUNS,
        artifact=what_ran(case, target, [arm.variant for arm in arms]).artifact,
        gpu_uuid=gpu if case.evidence.platforms.get(target) else None,
        ran="; ".join(names),
        nearest=nearest(case, ask.claim),
        evidence=paths,
    )


def judge_self_check(ask: Question, evaluation: Program) -> Verdict | Failure:
    """Return whether every run passed the program's own check; a run that failed it is incorrect,
    and one that nobody checked says nothing.
    """
    case, claim, target = ask.case, ask.claim, ask.target
    arguments = evaluation.stated.arguments
    runs = measure_program(case, target, evaluation.program, evaluation.figure, arguments, None)
    if isinstance(runs, Failure):
        return runs
    program = case.catalog.programs[evaluation.program]
    record = case.evidence.programs[target, job_id(program.id, arguments)]
    outputs = [parse(program.parser, run.stdout) for run in record.runs]
    passed, checked = verification(program, record, outputs, runs.figure)
    if not passed:
        return not_run(NotRun.RUN_FAILED, checked, runs.evidence)
    sentences = (
        checked or f"{program.title} passes its own check in {len(outputs)} runs.",
        program_version(case, target, claim, program.id),
        versions_words(case, target, claim),
    )
    return ask.verdict(
        Status.REPRODUCED,
        " ".join(filter(None, sentences)),
        measured=ways.PASSES,
        artifact="original",
        binary_sha256=runs.binary_sha256,
        gpu_uuid=runs.gpu_uuid,
        ran=runs.ran,
        evidence=runs.evidence,
    )

"""Gates before a benchmark's numbers count: right outputs, one binary, one GPU, one problem."""

from collections.abc import Iterator

from assay.judging.case import Case, Failure, Ran, not_run
from assay.judging.what_ran import what_ran
from assay.records.builds import BuildRecord
from assay.records.evaluations import NotRun, Term
from assay.records.measurements import (
    ArmCorrectness,
    ArmFacts,
    BenchmarkRecord,
    CorrectnessRecord,
    Turn,
)
from assay.records.units import number, short
from assay.records.verdicts import Status
from assay.records.workloads import Comparison, Workload


def arms_of(term: Term) -> tuple[str, ...]:
    """Return the arm of a term, and its baseline where it has one."""
    return (term.arm,) if term.over is None else (term.arm, term.over)


def absent(case: Case, target: str, comparison: Comparison, term: Term) -> Failure:
    """Return why there is no correctness record: the build failed, or the run did."""
    arch = case.catalog.targets[target].arch
    variants = {arm.id: arm.variant for arm in comparison.arms}
    for arm in arms_of(term):
        build = case.evidence.builds.get((variants[arm], arch))
        if build is not None and build.status == "failed":
            return not_built(build)
    text = f"No result of comparison {comparison.id} on {target} is among the evidence."
    return not_run(NotRun.RUN_FAILED, text)


def not_built(build: BuildRecord, called: str = "") -> Failure:
    """Return that a build failed, in the compiler's words; ``called``: how to call it."""
    does = "does not compile" if build.had_compiler else "was not compiled"
    text = f"{called or build.id} {does} for {build.arch}: {last_words(build.diagnostics)}"
    return not_run(NotRun.BUILD_FAILED, text)


def last_words(diagnostics: str) -> str:
    """Return the first error a compiler reports, or its last line."""
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines[-1:] or ["the compiler gave no reason"])[0]


_WITHOUT_OUTPUT = {
    "unsupported": (NotRun.NOT_IN_BUILD, "does not take this problem here"),
    "not_installed": (NotRun.NOT_INSTALLED, "was not run, for what it calls is not installed"),
    "failed": (NotRun.RUN_FAILED, "failed to run"),
}


def gate_correctness(
    case: Case, correctness: CorrectnessRecord, arm: str, own: bool
) -> Failure | None:
    """Let only an arm that was found correct have a time; ``own``: it is not a baseline."""
    found = [entry for entry in correctness.arms if entry.arm == arm]
    if not found:
        return not_run(NotRun.RUN_FAILED, f"Arm {arm} was never checked, so not timed.")
    entry = found[0]
    failed = [check for check in entry.checks if not check.passed]
    if entry.status == "correct" and not failed and entry.checks:
        return None
    if entry.status == "correct" and not entry.checks:
        return not_run(NotRun.RUN_FAILED, f"Arm {arm} has no correctness check.")
    who = f"{entry.variant} (arm {arm})"
    if entry.status in _WITHOUT_OUTPUT:
        arch = case.catalog.targets[correctness.target].arch
        build = case.evidence.builds.get((entry.variant, arch))
        if build is not None and build.status == "failed":
            return not_built(build)
        reason, words = _WITHOUT_OUTPUT[entry.status]
        detail = entry.detail.removeprefix(f"arm '{arm}': ").rstrip(".")
        text = f"{who} {words}: {detail}."
        if entry.status == "not_installed":
            text = f"{text} {_how_to_get(case, entry.variant)}".rstrip()
            reason = reason if own else NotRun.RIVAL_MISSING
        return not_run(reason, text)
    text = f"The output of {who} is wrong ({_failed_checks(entry)}); no performance is reported."
    ran = what_ran(case, correctness.target, [entry.variant]).artifact
    return _wrong(text, own, ran, correctness.gpu_uuid, entry.binary_sha256)


def _how_to_get(case: Case, variant: str) -> str:
    """The install line of what a variant calls, by today's configuration."""
    known = case.catalog.variants.get(variant)
    rival = case.catalog.rivals.get(known.rival) if known and known.rival else None
    return "" if rival is None else rival.how_to_get()


def _wrong(text: str, own: bool, ran: Ran, gpu_uuid: str, binary: str | None) -> Failure:
    """A wrong output: the claim's own arm is incorrect; a wrong baseline leaves no ratio."""
    if not own:
        return not_run(NotRun.RUN_FAILED, f"{text} It is the baseline of this ratio.")
    return Failure(
        Status.INCORRECT,
        "wrong_output",
        text,
        binary_sha256=binary,
        gpu_uuid=gpu_uuid,
        artifact=ran,
    )


def _failed_checks(entry: ArmCorrectness) -> str:
    failed = [check for check in entry.checks if not check.passed]
    if not failed:
        return entry.detail
    worst = failed[0]
    error = (
        "" if worst.relative_error is None else f", relative error {number(worst.relative_error)}"
    )
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"check {worst.name} with seed {worst.seed}{error}{more}"


def gate_record(
    case: Case,
    target: str,
    record: BenchmarkRecord,
    correctness: CorrectnessRecord,
    arm: str,
    own: bool,
) -> Failure | None:
    """Require the same binary and GPU, the planned problem, and right outputs while timed."""
    checked = next(entry for entry in correctness.arms if entry.arm == arm)
    if arm in record.not_timed:
        return _not_timed(case, record, checked, own)
    facts = [entry for process in record.processes for entry in process.arms if entry.arm == arm]
    if not facts:
        return not_run(NotRun.RUN_FAILED, f"Arm {arm} has no facts in any process.")
    problem = _mismatch(record, correctness, facts, checked)
    if problem is not None:
        return not_run(NotRun.RUN_FAILED, problem)
    workload = case.catalog.workloads[facts[0].workload]
    # What nobody wrote has no right answer; only readings are answered by such an arm.
    unwritten = workload.distribution == "unwritten"
    if not unwritten and not any(turn.checked for turn in _turns(record, arm)):
        text = f"No output of {facts[0].variant} (arm {arm}) was checked while it was timed."
        return not_run(NotRun.RUN_FAILED, text)
    error = _worst_timed_error(record, arm, workload)
    if error is not None:
        text = f"The output of {facts[0].variant} (arm {arm}) was wrong while it was timed: {error}"
        ran = what_ran(case, target, [facts[0].variant]).artifact
        return _wrong(text, own, ran, record.gpu_uuid, facts[0].binary_sha256)
    return None


def _not_timed(case: Case, record: BenchmarkRecord, checked: ArmCorrectness, own: bool) -> Failure:
    """Return why an arm that passed the gate has no time: a wrong output is a verdict."""
    why = record.not_timed[checked.arm]
    if checked.arm not in record.wrong:
        text = f"Arm {checked.arm} was not timed: {why}"
        return not_run(NotRun.RUN_FAILED, text)
    found = why.removeprefix("incorrect: ")
    text = f"{checked.variant} (arm {checked.arm}) passed the gate, but {found}"
    ran = what_ran(case, record.target, [checked.variant]).artifact
    text += "; no performance is reported."
    return _wrong(text, own, ran, record.gpu_uuid, checked.binary_sha256)


def _mismatch(
    record: BenchmarkRecord,
    correctness: CorrectnessRecord,
    facts: list[ArmFacts],
    checked: ArmCorrectness,
) -> str | None:
    """Return why times and checks are not of one thing, or None."""
    if record.gpu_uuid != correctness.gpu_uuid:
        return (
            f"Correctness was checked on GPU {correctness.gpu_uuid} but times were taken on "
            f"{record.gpu_uuid}: they do not vouch for each other."
        )
    if any(entry.binary_sha256 != checked.binary_sha256 for entry in facts):
        return (
            f"The timed binary of arm {checked.arm} is not the one that was checked "
            "(their SHA-256 differ)."
        )
    return None


def _worst_timed_error(record: BenchmarkRecord, arm: str, workload: Workload) -> str | None:
    """Return what is wrong with the outputs checked among the timed launches, or None."""
    errors = [turn.relative_error for turn in _turns(record, arm) if turn.checked]
    if any(error is None for error in errors):
        return "a checked output has no finite error"
    worst = max((error for error in errors if error is not None), default=0.0)
    if worst <= workload.relative_tolerance:
        return None
    return f"relative error {number(worst)}, tolerated {short(workload.relative_tolerance)}"


def _turns(record: BenchmarkRecord, arm: str) -> Iterator[Turn]:
    return (
        turn
        for process in record.processes
        for block in process.blocks
        for turn in block.turns
        if turn.arm == arm
    )

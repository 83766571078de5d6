"""Gates before a benchmark's numbers count: right outputs, one binary, one GPU, one problem."""

from collections.abc import Iterator

from assay.evidence.model import Evidence
from assay.judging.case import Case, Failure, not_run
from assay.judging.what_ran import what_ran
from assay.records.builds import BuildRecord
from assay.records.evaluations import NotRun, Term
from assay.records.measurements import (
    ArmCorrectness,
    ArmFacts,
    BenchmarkRecord,
    Check,
    CorrectnessRecord,
)
from assay.records.units import number, short
from assay.records.verdicts import Status


def arms_of(term: Term) -> tuple[str, ...]:
    """Return the arm of a term, and its baseline where it has one."""
    return (term.arm,) if term.over is None else (term.arm, term.over)


def timed_binaries(evidence: Evidence) -> Iterator[tuple[str, str, str | None]]:
    """Yield (target, variant or program, SHA-256) of all that was timed."""
    for (target, _), benchmark in evidence.benchmarks.items():
        for arm in (arm for process in benchmark.processes for arm in process.arms):
            yield target, arm.variant, arm.binary_sha256
    for (target, _), program in evidence.programs.items():
        yield target, program.program, program.binary_sha256


def absent(case: Case, target: str, term: Term) -> Failure:
    """Return why there is no correctness record: the build failed, or the run did."""
    arch, comparison = case.catalog.targets[target].arch, case.catalog.comparisons[term.comparison]
    for arm in arms_of(term):
        build = case.evidence.builds.get((comparison.arm(arm).variant, arch))
        if build is not None and build.status == "failed":
            return not_built(build)
    text = f"No result of comparison {comparison.id} on {target} is among the evidence."
    return not_run(NotRun.RUN_FAILED, text)


def not_built(build: BuildRecord, called: str = "") -> Failure:
    """Return that a build failed, in the compiler's words; ``called``: how to call it."""
    what = f"{called or build.id} does not compile for {build.arch}"
    text = f"{what}: {last_words(build.diagnostics)}"
    return not_run(NotRun.BUILD_FAILED, text)


def last_words(diagnostics: str) -> str:
    """Return the first error a compiler reports, or its last line."""
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines[-1:] or ["the compiler gave no reason"])[0]


REFUSALS = ("harness_unchanged", "plain_tensor", "own_check")
"""Checks that say in words of their own what an arm does."""
_WITHOUT_OUTPUT = {
    "unsupported": (NotRun.NOT_IN_BUILD, "does not take this problem here"),
    "not_installed": (NotRun.NOT_INSTALLED, "was not run, for what it calls is not installed"),
    "failed": (NotRun.RUN_FAILED, "failed to run"),
}


def gate_term(case: Case, correctness: CorrectnessRecord, term: Term) -> Failure | None:
    """Let only a term whose arms were found correct have a time.

    Where the baseline is as wrong as the arm, the baseline is to blame: a reference that is not
    what its problem says in float64, or that draws at random, fails with all who solve it rightly.
    """
    found = {
        arm: gate_correctness(case, correctness, arm, arm == term.arm) for arm in arms_of(term)
    }
    wrong = {entry.arm: entry for entry in correctness.arms if entry.status == "incorrect"}
    if term.over in wrong and term.arm in wrong and not _refusal(wrong[term.arm]):
        return found[term.over]
    return next(filter(None, found.values()), None)


def gate_correctness(
    case: Case, correctness: CorrectnessRecord, arm: str, own: bool
) -> Failure | None:
    """Let only an arm that was found correct have a time; ``own``: it is not a baseline."""
    entry = next((entry for entry in correctness.arms if entry.arm == arm), None)
    if entry is None:
        return not_run(NotRun.RUN_FAILED, f"Arm {arm} was never checked, so not timed.")
    if entry.status == "correct" and not entry.checks:
        return not_run(NotRun.RUN_FAILED, f"Arm {arm} has no correctness check.")
    if entry.status == "correct" and all(check.passed for check in entry.checks):
        return None
    who = f"{entry.variant} (arm {arm})"
    if entry.status not in _WITHOUT_OUTPUT:
        text = f"{_what_is_wrong(entry, who)}; no performance is reported."
        return _wrong(case, correctness, entry, text, own)
    arch = case.catalog.targets[correctness.target].arch
    build = case.evidence.builds.get((entry.variant, arch))
    if build is not None and build.status == "failed":
        return not_built(build)
    reason, words = _WITHOUT_OUTPUT[entry.status]
    detail = entry.detail.removeprefix(f"arm '{arm}': ").rstrip(".")
    text = f"{who} {words}: {detail}."
    if entry.status == "not_installed":
        variant = case.catalog.variants.get(entry.variant)
        rival = case.catalog.rivals.get(variant.rival) if variant and variant.rival else None
        text = f"{text} {rival.how_to_get() if rival else ''}".rstrip()
        reason = reason if own else NotRun.RIVAL_MISSING
    return not_run(reason, text)


def _wrong(
    case: Case,
    record: CorrectnessRecord | BenchmarkRecord,
    entry: ArmCorrectness,
    text: str,
    own: bool,
) -> Failure:
    """A wrong output: the claim's own arm is incorrect; a wrong baseline leaves no ratio."""
    if not own:
        return not_run(NotRun.RUN_FAILED, f"{text} It is the baseline of this ratio.")
    return Failure(
        Status.INCORRECT,
        "wrong_output",
        text,
        binary_sha256=entry.binary_sha256,
        gpu_uuid=record.gpu_uuid,
        artifact=what_ran(case, record.target, [entry.variant]).artifact,
    )


def _what_is_wrong(entry: ArmCorrectness, who: str) -> str:
    """Return what the gate objects to: a way to cheat by its name, else a wrong output."""
    if cheat := _refusal(entry):
        return f"{who} is refused: {cheat.detail}"
    failed = [check for check in entry.checks if not check.passed]
    if changed := next((each for each in failed if each.name == "inputs_unchanged"), None):
        return f"{who} changes its inputs ({changed.detail.removeprefix('changed: ')})"
    if failed and all(check.name == "repeat" for check in failed):
        return f"{who} is right at first, and wrong once the same tensors hold other values"
    if not failed:
        return f"The output of {who} is wrong ({entry.detail})"
    worst, more = failed[0], f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    off = worst.relative_error
    error = "" if off is None else f", relative error {number(off)}"
    says = f"check {worst.name} with seed {worst.seed}{error}{more}"
    return f"The output of {who} is wrong ({says})"


def _refusal(entry: ArmCorrectness) -> Check | None:
    """Return the failed check that says in words of its own what an arm does; None without one."""
    refusals = (check for check in entry.checks if not check.passed and check.name in REFUSALS)
    return next(refusals, None)


def gate_record(
    case: Case, record: BenchmarkRecord, correctness: CorrectnessRecord, arm: str, own: bool
) -> Failure | None:
    """Require the same binary and GPU, the planned problem, and right outputs while timed."""
    checked = next(entry for entry in correctness.arms if entry.arm == arm)
    if arm in record.not_timed:
        # A wrong output of an arm that passed the gate is a verdict.
        why = record.not_timed[arm]
        if arm not in record.wrong:
            return not_run(NotRun.RUN_FAILED, f"Arm {arm} was not timed: {why}")
        text = f"{checked.variant} (arm {arm}) passed the gate, but "
        text += f"{why.removeprefix('incorrect: ')}; no performance is reported."
        return _wrong(case, record, checked, text, own)
    facts = [entry for process in record.processes for entry in process.arms if entry.arm == arm]
    problem = _mismatch(record, correctness, facts, checked)
    if problem is not None:
        return not_run(NotRun.RUN_FAILED, problem)
    workload, who = case.catalog.workloads[facts[0].workload], f"{facts[0].variant} (arm {arm})"
    errors = [
        turn.relative_error
        for process in record.processes
        for block in process.blocks
        for turn in block.turns
        if turn.arm == arm and turn.checked
    ]
    # What nobody wrote has no right answer; only readings are answered by such an arm.
    if not errors and workload.distribution != "unwritten":
        text = f"No output of {who} was checked while it was timed."
        return not_run(NotRun.RUN_FAILED, text)
    wrong, most = None, workload.relative_tolerance
    if None in errors:
        wrong = "a checked output has no finite error"
    elif (worst := max((error for error in errors if error), default=0.0)) > most:
        wrong = f"relative error {number(worst)}, tolerated {short(most)}"
    if wrong is None:
        return None
    text = f"The output of {who} was wrong while it was timed: {wrong}"
    return _wrong(case, record, checked, text, own)


def _mismatch(
    record: BenchmarkRecord,
    correctness: CorrectnessRecord,
    facts: list[ArmFacts],
    checked: ArmCorrectness,
) -> str | None:
    """Return why times and checks are not of one thing, or None."""
    if not facts:
        return f"Arm {checked.arm} has no facts in any process."
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

"""A source's own program, built and run from a checkout that the user had.

It is what the source speaks of, so that its figure is the primary one, and what this repository
rebuilt, or runs besides, becomes a reading beside it. Unless the claim names the reading by which
the program is known to run and count: what it prints is then one reading more, for a printed count
is no work done. Where it gives no figure, the verdict is what it would have been, and says why.
"""

from assay.base.printable import capital
from assay.evidence.stages import original_path
from assay.judging.case import ORIGINAL, Case, Failure, Measured, not_run, once, with_platform
from assay.judging.gates import last_words
from assay.judging.printed_figures import to_base
from assay.records.claims import Claim
from assay.records.evaluations import (
    AS_TYPED,
    PRINTED,
    Benchmark,
    Derived,
    NotRun,
    Program,
    Reading,
    Unanswerable,
)
from assay.records.originals import (
    FigurePattern,
    GivenLine,
    LineRun,
    OriginalRunRecord,
    OriginalSource,
    ReportedSize,
)
from assay.records.units import Unit, printed
from assay.records.verdicts import Status, Verdict
from assay.shared.output_readers import Take, parse_reader
from assay.statistics.summaries import repeated_runs

REBUILT = "rebuilt"
"""Id of the reading that the claim's own evaluation becomes."""
AS_STATED = "the problem and the count as the source states them"
OWN, UNNAMED = "the source's own program", "the author's program, which this source does not name"
SAYS = f"{OWN}, by the count that it prints"
HOW_TO_RUN_BOTH = (
    "Where the source types this line, it is the command's 'typed', and 'run' the one that runs "
    "what is stated."
)
GAIN = "What it prints is in per cent, and read as a gain: 25 % is 1.25 times."
UNCHECKED = "Nothing here checked its output, and a program that times itself has no A/A control."


def own_program(case: Case, claim: Claim, target: str | None) -> Measured | Failure | None:
    """Return what the source's own program printed for a claim that it decides; None where none was
    run for it, or counts otherwise than the claim's primary reading.

    A claim under one of its readings is another matter: only the one of the catalog is answered.
    """
    return None if counts_of(case, claim) else _printed(case, claim, target)


def answers_alone(claim: Claim) -> bool:
    """Return whether nothing but a program that was given can answer a claim."""
    evaluation = claim.evaluation
    return isinstance(evaluation, Unanswerable) and evaluation.reason is NotRun.ORIGINAL_UNAVAILABLE


def counted_otherwise(
    case: Case, claim: Claim, target: str | None
) -> tuple[Reading, Measured | Failure] | None:
    """Return what the source's own program printed by another reading than the primary one, with
    that reading; None where none was run for the claim, or where it decides.
    """
    counts = counts_of(case, claim)
    found = _printed(case, claim, target) if counts is not None else None
    described = _described(case, claim.id)
    known = claim is case.catalog.claims.get(claim.id) and target is not None
    if found is None and known and described is not None and (defines := described[0].defines):
        settings = " ".join(f"-D{name}={value}" for name, value in defines.items())
        text = f"The source's own program was not built with {settings} here."
        found = not_run(NotRun.ORIGINAL_UNAVAILABLE, text)
    if found is None:
        return None
    of = next(reading for reading in claim.all_readings() if reading.id == counts)
    program = _called(case, described[0], claim) if described else OWN
    says = f"{program}, by the count that it prints, of what it does: {of.says}"
    return of.model_copy(update={"id": PRINTED, "says": says}), found


def printed_beside(case: Case, claim: Claim, target: str | None) -> bool:
    """Return whether a figure that the source's own program printed is a reading of a claim."""
    beside = counted_otherwise(case, claim, target)
    return beside is not None and isinstance(beside[1], Measured)


def built_as_typed(case: Case, claim: Claim) -> bool:
    """Return whether the program that prints a claim's figure is built with no other settings than
    its source types.
    """
    described = _described(case, claim.id)
    return described is not None and not described[0].defines


def sides_of(case: Case, claim: Claim) -> list[Claim]:
    """Return the two claims that one is derived from, or the claim."""
    if not isinstance(claim.evaluation, Derived):
        return [claim]
    names = (claim.evaluation.numerator, claim.evaluation.denominator)
    return [case.catalog.claims[name] for name in names]


def as_typed(case: Case, claim: Claim, target: str) -> tuple[Reading, Measured | Failure] | None:
    """Return what the line that the source types printed, where that is another than the one that
    runs the stated problem, with what it ran; None where there is none.
    """
    described, found = _described(case, claim.id), _printed(case, claim, target, typed=True)
    if described is None or found is None:
        return None
    original = described[0]
    record = case.evidence.originals[target, original.id]
    if record.typed_line is None:
        return None
    evaluation = claim.evaluation
    assert isinstance(evaluation, Benchmark | Program | Unanswerable)  # which the catalog asks for
    sizes = next((sizes_printed(original, run.stdout) for run in record.typed_runs), "")
    says = f"the command as the source types it: {record.typed_line.line}"
    says += f", which ran {sizes}" if sizes else ""
    return Reading(id=AS_TYPED, says=says, differs="problem", evaluation=evaluation), found


def sizes_printed(original: OriginalSource, output: str) -> str:
    """Return the sizes of the problem that an output tells; none where it tells of none."""
    found = ((size.name, _size(size, output)) for size in original.sizes)
    return ", ".join(f"{name} = {told}" for name, told in found if told)


def _size(size: ReportedSize, output: str) -> str:
    values = parse_reader(size.pattern).values(output, Take.ONLY)
    return " and ".join(printed(value, None) for value in values)


def counts_of(case: Case, claim: Claim) -> str | None:
    """Return the reading by which the source's own program runs and counts; None for its own."""
    found = _described(case, claim.id)
    return found[1].counts if found else None


@once
def _described(case: Case, claim: str) -> tuple[OriginalSource, FigurePattern] | None:
    """Return the program that prints a claim's figure, and what finds it; None where none does."""
    found = case.catalog.program_of(claim) if claim in case.catalog.source_of else None
    figure = found and found[1].figure_of(claim)
    return (found[1], figure) if found and figure else None


def _printed(
    case: Case, claim: Claim, target: str | None, *, typed: bool = False
) -> Measured | Failure | None:
    """Return what the program printed for a claim as the catalog has it, by whatever count;
    ``typed``: by the line as typed.
    """
    described = _described(case, claim.id)
    if target is None or described is None or claim is not case.catalog.claims.get(claim.id):
        return None
    original, figure = described
    record = case.evidence.originals.get((target, original.id))
    if record is None:
        return None
    paths = with_platform(case, target, (original_path(target, original.id),))
    line = record.typed_line if typed and record.typed_line else record.run_line
    values = _values(case, record, original, figure, typed=typed)
    if isinstance(values, str):
        built = record.build is None or record.build.exit_code == 0
        reason = NotRun.RUN_FAILED if built else NotRun.BUILD_FAILED
        reason = reason if record.lacking is None else NotRun.NOT_INSTALLED
        return not_run(reason, f"The source's own program gave no figure: {values}", paths)
    based = [to_base(value, figure.unit) for value in values]  # a gain is no multiple of one
    summary = repeated_runs(tuple(v for v, _ in based), case.catalog.judging)
    if summary is None:
        text = "The source's own program ran only once: no interval can be formed."
        return Failure(Status.INCONCLUSIVE, "too_few_processes", text, paths)
    return Measured(
        summary=summary,
        unit=based[0][1],
        code=ORIGINAL,
        gpu_uuid=record.gpu_uuid,
        ran=f"{record.original}: {line.line}",
        notes=(
            _told(record, figure, _called(case, original, claim)),
            *([GAIN] if figure.unit is Unit.PERCENT else []),
            UNCHECKED,
        ),
        evidence=paths,
    )


def rebuilt_reading(case: Case, claim: Claim, target: str) -> tuple[Reading, ...]:
    """Return the claim's own evaluation as a reading, where its source's own program decides."""
    evaluation, own = claim.evaluation, own_program(case, claim, target)
    if not isinstance(evaluation, Benchmark | Program) or not isinstance(own, Measured):
        return ()
    says = f"without the checkout: {claim.reading or AS_STATED}"
    return (
        Reading(id=REBUILT, says=says, differs="build", evaluation=evaluation, flops=claim.flops),
    )


def how_to_get_it(case: Case, verdict: Verdict) -> str:
    """Return how the source's own program would run, for a verdict on what was rebuilt."""
    found = case.catalog.program_of(verdict.claim)
    described = _described(case, verdict.claim)
    if verdict.artifact != "reimplemented" or found is None or described is None:
        return ""
    text = ", ".join(described[0].options_of(found[0]))
    gives = "it decides" if described[1].counts is None else "what it prints is a reading too"
    return f"With a checkout of it, {gives}: {text}, on a machine's own compiler (--runtime host)."


def _values(
    case: Case,
    record: OriginalRunRecord,
    original: OriginalSource,
    figure: FigurePattern,
    *,
    typed: bool,
) -> tuple[float, ...] | str:
    """Return the figure of each run, or why there is none."""
    if record.lacking is not None:
        return f"{record.lacking}."
    if record.build is not None and record.build.exit_code != 0:
        return f"it does not build: {last_words(record.build.stderr)}"
    values: list[float] = []
    for number, run in enumerate(record.typed_runs if typed else record.runs, start=1):
        other = None if typed else _other_problem(case, original, run)
        found = other or _figure(run, figure)
        if isinstance(found, str):
            return f"run {number} {found}"
        values.append(found)
    return tuple(values)


def _other_problem(case: Case, original: OriginalSource, run: LineRun) -> str | None:
    """Return in what a run printed another problem than the stated one, or None."""
    for size in original.sizes if run.exit_code == 0 else ():
        if parse_reader(size.pattern).values(run.stdout, Take.ONLY) != (size.equals,):
            told, wanted = _size(size, run.stdout) or "nothing", printed(size.equals, None)
            says = f"ran another problem: it printed {told} for {size.name}, not {wanted}."
            return says if case.catalog.project is None else f"{says} {HOW_TO_RUN_BOTH}"
    return None


def _figure(run: LineRun, figure: FigurePattern) -> float | str:
    """Return the figure that one run printed, or why there is none."""
    if run.exit_code != 0:
        said = [line for line in f"{run.stdout}\n{run.stderr}".splitlines() if line.strip()]
        words = f": {said[-1].strip()}" if said else ""
        return f"ended with exit code {run.exit_code}{words}"
    if run.cut:
        return "printed more than is kept, so that nobody knows all its figures."
    found = parse_reader(figure.pattern).values(run.stdout, figure.take)
    if not found or to_base(found[0], figure.unit)[0] <= 0:
        return f"printed nothing that '{figure.pattern}' finds a figure in."
    if len(found) > 1:
        numbers = ", ".join(printed(value, None) for value in found)
        return f"printed several figures at '{figure.pattern}' ({numbers})."
    return found[0]


def _called(case: Case, original: OriginalSource, claim: Claim) -> str:
    """Return what a program is called: a document may have a figure of it, and not name it."""
    catalog = case.catalog
    named = original.file and catalog.sources[catalog.source_of[claim.id]].program_of(claim.id)
    return OWN if named or catalog.project is not None else UNNAMED


def _told(record: OriginalRunRecord, figure: FigurePattern, program: str) -> str:
    """Return what ran, by whose lines, and where the figure was read."""
    file = f"{record.file} (SHA-256 {record.file_sha256}) of " if record.file else ""
    line, run = record.build_line, record.run_line
    built = f"built by `{line.line}` ({whose(line)}), " if line else ""
    where = f"in image {record.image} " if record.image else ""
    taken = "the only one" if figure.take is Take.ONLY else figure.take.value
    return (
        f"{capital(program)}: {file}a checkout (SHA-256 {record.checkout.sha256}), "
        f"{built}run {where}by `{run.line}` ({whose(run)}); its figure is what it prints at "
        f"'{figure.pattern}' ({taken} of a run), counted as it counts."
    )


def whose(line: GivenLine) -> str:
    """Return who wrote a line, in words."""
    return "as the source types it" if line.by == "source" else "as the user gave it"

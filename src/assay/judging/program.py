"""Measured figures of original programs: which of those printed answers, and what it rests on."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from assay.evidence.model import build_of, build_record_path
from assay.evidence.stages import program_path
from assay.judging import cutlass_output as cutlass
from assay.judging.case import ORIGINAL, Case, Failure, Measured, not_run, once, with_platform
from assay.judging.cutlass_output import MalformedOutput, ParsedOutput, Shape, job_id, parse
from assay.judging.formulas import Counting, Uncounted, for_program
from assay.judging.gates import not_built
from assay.judging.printed_figures import to_base
from assay.records.evaluations import FlopFormula, NotRun, Program
from assay.records.kernels import OriginalProgram
from assay.records.measurements import ProgramRecord, ProgramRun
from assay.records.platform import is_for
from assay.records.units import Unit, quantity
from assay.records.verdicts import Status
from assay.statistics import roofline
from assay.statistics.summaries import repeated_runs

UNCONTROLLED = "A program that times itself has no A/A control."


@once
def measure_program(
    case: Case, target: str, name: str, figure: str, arguments: tuple[str, ...], formula: Counting
) -> Measured | Failure:
    """Return a ``figure`` of all runs of the program ``name`` with ``arguments``, restated by
    ``formula``: None leaves it as printed.
    """
    program, arch = case.catalog.programs[name], case.catalog.targets[target].arch
    job, built = job_id(name, arguments), build_record_path(case.evidence, name, arch)
    record = case.evidence.programs.get((target, job))
    ran = () if record is None else (program_path(target, job),)
    paths = with_platform(case, target, (*ran, *((built,) if built else ())))
    if record is None:
        return replace(_absent(case, target, program), evidence=paths)
    outputs = _outputs(program, record)
    if isinstance(outputs, Failure):
        return replace(outputs, evidence=paths)
    return replace(_runs(case, target, program, figure, record, outputs, formula), evidence=paths)


def _absent(case: Case, target: str, program: OriginalProgram) -> Failure:
    arch = case.catalog.targets[target].arch
    build = case.evidence.builds.get((program.id, arch))
    if not is_for(program.archs, arch):
        return not_run(NotRun.UNSUPPORTED_ARCH, f"{program.title} is not made for {arch}.")
    if build is not None and build.status == "failed":
        return not_built(build, program.title)
    text = f"No run of {program.title} with these arguments on {target} is among the evidence."
    return not_run(NotRun.RUN_FAILED, text)


def _outputs(program: OriginalProgram, record: ProgramRecord) -> list[ParsedOutput] | Failure:
    """All runs parsed; a failed self-check outranks an exit code, which outranks the rest."""
    outputs: list[ParsedOutput] = []
    for number, run in enumerate(record.runs, start=1):
        try:
            output = parse(program.parser, run.stdout)
        except MalformedOutput as error:
            text = f"Run {number} of {program.title} gave no result (exit code {run.exit_code}): "
            return not_run(NotRun.RUN_FAILED, text + _last_line(run, error))
        if run.exit_code != 0 and output.passed is not False:
            text = f"Run {number} of {program.title} ended with exit code {run.exit_code}."
            return not_run(NotRun.RUN_FAILED, text)
        outputs.append(output)
    if not outputs:
        return not_run(NotRun.RUN_FAILED, f"{program.title} was never started.")
    shapes = [output.shape for output in outputs if output.shape]
    if any(shape != shapes[0] for shape in shapes):
        text = f"The runs of {program.title} report different problems."
        return not_run(NotRun.RUN_FAILED, text)
    return outputs


def _last_line(run: ProgramRun, error: MalformedOutput) -> str:
    return (run.stderr.strip().splitlines()[-1:] or [str(error)])[0]


def _runs(
    case: Case,
    target: str,
    program: OriginalProgram,
    figure: str,
    record: ProgramRecord,
    outputs: list[ParsedOutput],
    formula: Counting,
) -> Measured | Failure:
    figure, beside = _answering(program, record, figure, outputs)
    passed, checked = verification(program, record, outputs, figure)
    if passed is False:
        text = f"{program.title} found its own output wrong; no performance is reported."
        return Failure(
            Status.INCORRECT,
            "wrong_output",
            text + checked,
            ran=describe(outputs[0].shape, record.arguments),
            binary_sha256=record.binary_sha256,
            gpu_uuid=record.gpu_uuid,
            artifact="original",
        )
    values = tuple(o.figures[figure] for o in outputs if o.figures.get(figure, 0) > 0)
    if len(values) < len(outputs):
        known = ", ".join(sorted({name for output in outputs for name in output.figures}))
        text = f"{program.title} did not print {figure} in every run; it printed {known or 'none'}."
        return not_run(NotRun.RUN_FAILED, text)
    shape = outputs[0].shape
    summary = repeated_runs(values, case.catalog.judging)
    if summary is None:
        text = f"{program.title} ran only once: no interval can be formed."
        return Failure(Status.INCONCLUSIVE, "too_few_processes", text)
    unit = cutlass.figure_unit(figure)
    try:
        conversion = for_program(formula, program.parser, shape, record.arguments)
    except Uncounted as error:
        return not_run(NotRun.CONFIGURATION_MISSING, str(error))
    if unit is Unit.MS:
        conversion = replace(conversion, factor=1.0, sentence=None)
    factor, base = to_base(1.0, unit)
    summary = summary.scaled(factor * conversion.factor)
    peak = roofline.peak_tflop_per_s(
        case.catalog.targets[target].peaks, cutlass.DTYPES[program.parser]
    )
    # Of the matrix products alone: what the program counts, for each FLOP that it does.
    printed, own = cutlass.printed_flop(program.parser, shape, record.arguments), 1.0
    rate: float | None = None
    if printed is not None:
        own = for_program(FlopFormula.NNZ, program.parser, shape, record.arguments).factor
        value = statistics.median(values) * factor
        rate = printed * 1e-9 / value if base is Unit.MS else value
        rate *= own if program.parser == "cutlass_41" else 1.0
    counts = base is Unit.TFLOP_PER_S and printed is not None
    broken = None
    if rate is not None and rate > peak:
        told, most = (quantity(x, Unit.TFLOP_PER_S) for x in (rate, peak))
        broken = f"the program printed {told}, above the datasheet's peak of {most}"
    build, asserts = build_of(case.evidence, program.id, case.catalog.targets[target].arch), ""
    if build is not None and build.asserts:
        typed = "the source types no -DNDEBUG"
        who = typed if program.build == "typed" else "no -DNDEBUG was given"
        asserts = f"The binary has device asserts compiled in: {who}."
    notes = (conversion.sentence, beside, checked, asserts, UNCONTROLLED)
    return Measured(
        summary=summary,
        unit=base,
        code=ORIGINAL,
        roofline_fraction=None if rate is None else rate / peak,
        broken=broken,
        limit=peak * conversion.factor if base is Unit.TFLOP_PER_S else None,
        binary_sha256=record.binary_sha256,
        gpu_uuid=record.gpu_uuid,
        ran=describe(shape, record.arguments),
        work_ratio=conversion.factor / own if counts else None,
        notes=tuple(note for note in notes if note),
        evidence=(),
        shape=shape,
        figure=figure,
    )


def _answering(
    program: OriginalProgram, record: ProgramRecord, figure: str, outputs: list[ParsedOutput]
) -> tuple[str, str]:
    """The printed figure that answers, and a sentence where it was chosen from several.

    Of a pattern the fastest whose output nothing found wrong; where all are wrong, the fastest.
    Else the figure itself, or the only one of the same schedule: a command that ran another head
    size than stated prints the schedule with another tile.
    """
    failed = {name for output in outputs for name in output.failed}
    if "*" not in figure:
        names = failed.union(*(output.figures for output in outputs))
        alike = [name for name in names if cutlass.schedule(name) == cutlass.schedule(figure)]
        return (alike[0] if figure not in names and len(alike) == 1 else figure), ""
    printed = set.intersection(*({*output.figures} for output in outputs)) if outputs else set()
    medians = {
        name: statistics.median(output.figures[name] for output in outputs)
        for name in printed
        if fnmatchcase(name, figure)
    }
    sign = 1 if cutlass.figure_unit(figure) is Unit.MS else -1
    named = sorted(sorted(medians), key=lambda name: sign * medians[name])
    right = [n for n in named if verification(program, record, outputs, n)[0] is not False]
    if not named:
        return (min(failed) if failed else figure), ""
    chosen = (right or named)[0]
    others = [f"{n} {quantity(medians[n], cutlass.figure_unit(n))}" for n in named if n != chosen]
    beside = f" Beside it: {', '.join(others)}." if others else ""
    return chosen, f"No kernel is named: the fastest that the program printed is {chosen}.{beside}"


def verification(
    program: OriginalProgram, record: ProgramRecord, outputs: Sequence[ParsedOutput], figure: str
) -> tuple[bool | None, str]:
    """Return whether the output behind ``figure`` passed the program's own check, with words for
    the verdict; None where nothing says: its reference has limits of its own, and a run that
    verifies may be cut short. Of the timed runs' own check no words are needed.
    """
    if any(figure in output.failed for output in outputs):
        return False, ""
    if all(output.passed is not None for output in outputs):
        return True, ""
    run = record.verification
    if run is None:
        return None, "The program was not asked to verify its output in these runs."
    problem: str | None = None
    try:
        output = parse(program.parser, run.stdout)
        problem = cutlass.reference_problem(program.parser, output.shape, run.stderr)
        if problem is None and figure in output.failed:
            return False, " It did so in a run apart from the timed ones, with its check on."
        if problem is None and (figure not in output.figures or output.passed is None):
            problem = "it prints no outcome of a check"
    except MalformedOutput as error:
        problem = f"exit code {run.exit_code}: {_last_line(run, error)}"
    if problem is None:
        return True, "The program checked its output once, untimed, and it passed."
    why = problem.rstrip(".")
    return None, f"We asked the program to check its output once; it could not ({why})."


def answering_figure(case: Case, target: str, evaluation: Program) -> str:
    """Return the printed figure that answers a claim: of a pattern, the one that was chosen.

    The figure as the claim has it where no usable record says what was printed.
    """
    program = case.catalog.programs[evaluation.program]
    job = job_id(program.id, evaluation.stated.arguments)
    record = case.evidence.programs.get((target, job))
    outputs = None if record is None else _outputs(program, record)
    if record is None or outputs is None or isinstance(outputs, Failure):
        return evaluation.figure
    return _answering(program, record, evaluation.figure, outputs)[0]


def describe(shape: Shape, arguments: Sequence[str]) -> str:
    """Return the problem as the program reports it, and the arguments it was given."""
    sizes = " ".join(f"{key}={str(value).lower()}" for key, value in shape.items())
    return f"{sizes or 'no problem reported'}; arguments: {' '.join(arguments) or '(none)'}"


def shape_matches(shape: Shape, stated: Shape) -> bool:
    """Return whether the reported problem is the stated one, in every size that is stated."""
    return all(key in shape and shape[key] == value for key, value in stated.items())

"""The commands' part of the report: original programs, how they were built and how they ran."""

from collections.abc import Iterator, Mapping, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence, builds_of
from assay.evidence.stages import original_path, program_path
from assay.judging import cutlass_output as outputs
from assay.judging.own_program import sizes_printed, whose
from assay.judging.program import verification
from assay.records.claims import Claim
from assay.records.evaluations import Invocation, Program
from assay.records.kernels import OriginalProgram
from assay.records.measurements import ProgramRecord, ProgramRun
from assay.records.originals import LineRun, OriginalRunRecord, OriginalSource
from assay.report import formatting as fmt
from assay.shared.counting import counted
from assay.shared.output_readers import parse_reader

BUILDS = {
    "typed": "by the build line that the source types",
    "release": "as a Release build of the author's own build system",
    None: "nobody recorded by whose build line",
}
ASSERTS = {True: "compiled in", False: "none", None: "nobody looked"}


def programs_of(claim: Claim) -> Iterator[tuple[str | None, Program]]:
    """Yield the programs that answer a claim: its own, then each reading's with its id."""
    readings = ((reading.id, reading.evaluation) for reading in claim.readings)
    for reading, evaluation in ((None, claim.evaluation), *readings):
        if isinstance(evaluation, Program):
            yield reading, evaluation


def command_rows(catalog: Catalog, evidence: Evidence) -> Iterator[fmt.Row]:
    """Yield every program run that a claim of the plan, or a reading of one, calls for.

    The stated problem is the claim's; a reading's own where no claim runs that command.
    """
    wanted: dict[str, tuple[str, tuple[str, ...]]] = {}
    roles: dict[str, dict[str, dict[str, None]]] = {}
    stated: dict[str, list[Invocation]] = {}
    read: dict[str, list[Invocation]] = {}
    for claim in catalog.claims_of(evidence.plan.sources, evidence.plan.claims):
        for reading, evaluation in programs_of(claim):
            typed, said = evaluation.typed, evaluation.stated.arguments
            for arguments, role in ((typed, "as typed"), (said, "as stated")):
                if arguments is None:
                    continue
                job = outputs.job_id(evaluation.program, arguments)
                wanted[job] = (evaluation.program, arguments)
                named = role if reading is None else f"reading {reading}"
                roles.setdefault(job, {}).setdefault(named, {})[claim.id] = None
                (stated if reading is None else read).setdefault(job, []).append(evaluation.stated)
    for job, (program, arguments) in wanted.items():
        described = catalog.programs[program]
        name = described.source.rsplit("/", 1)[-1].removesuffix(".cu")
        row: fmt.Row = {
            "title": described.title,
            "command": " ".join((name, *arguments)),
            "roles": [f"{role}: {', '.join(claims)}" for role, claims in roles[job].items()],
        }
        shapes = [dict(each.shape) for each in stated.get(job, read.get(job, []))]
        measured = {on: record for (on, name), record in evidence.programs.items() if name == job}
        for target in measured or [""]:
            record = measured.get(target)
            where = fmt.link(evidence.place(program_path(target, job))) if record else None
            yield {**row, **_ran(described, record, shapes), "target": target, "link": where}


def _ran(
    program: OriginalProgram,
    record: ProgramRecord | None,
    stated: Sequence[Mapping[str, int | bool]],
) -> fmt.Row:
    shapes: dict[str, outputs.Shape] = {}
    values: dict[str, list[float]] = {}
    problems: dict[str, None] = {}
    runs = record.runs if record else ()
    for run in runs:
        try:
            parsed = outputs.parse(program.parser, run.stdout)
        except outputs.MalformedOutput as error:
            problems[str(error)] = None
            continue
        shapes[fmt.shape(parsed.shape)] = parsed.shape
        for name, value in parsed.figures.items():
            values.setdefault(name, []).append(value)
    agrees = None
    if shapes and any(stated):
        ran_all = (given.items() <= ran.items() for given in stated for ran in shapes.values())
        agrees = "yes" if all(ran_all) else "no"
    return {
        "ran": ("; ".join([*shapes, *problems]) or "nothing printed") if record else "not run here",
        "stated": "; ".join(dict.fromkeys(fmt.shape(each) for each in stated if each)) or None,
        "agrees": agrees,
        "figures": [
            fmt.Fact(fmt.words(name), ", ".join(map(fmt.number, each)))
            for name, each in values.items()
        ],
        "runs": _runs(runs),
    }


def _runs(runs: Sequence[ProgramRun | LineRun]) -> str:
    failed = [run.exit_code for run in runs if run.exit_code != 0]
    told = f", {len(failed)} with exit code {failed[0]}" if failed else ""
    return f"{len(runs)}{told}" if runs else "none"


def own_program_rows(catalog: Catalog, evidence: Evidence) -> Iterator[fmt.Row]:
    """Yield every program that ran in a copy of a checkout, with whose lines built and ran it."""
    for (target, _), record in evidence.originals.items():
        described = catalog.sources[record.source].own_program(record.original)
        if described is None:
            continue
        first = "run line" if record.typed_line is None else "of the stated problem: run line"
        series = [(first, record.run_line, record.runs)]
        if record.typed_line is not None:
            series.append(("as typed: run line", record.typed_line, record.typed_runs))
        for called, line, runs in series:
            says = sizes_printed(described, runs[0].stdout) if runs else "did not run"
            yield {
                "target": target,
                "title": f"source {record.source}'s own program, in a checkout that the user had",
                "command": line.line,
                "roles": [f"{called} {whose(line)}", *_roles(described, record)],
                "ran": says or "what it ran, it does not say",
                "stated": None,
                "agrees": None,
                "figures": list(_figures(described, runs)),
                "runs": _runs(runs),
                "link": fmt.link(evidence.place(original_path(target, record.original))),
            }


def _roles(described: OriginalSource, record: OriginalRunRecord) -> Iterator[str]:
    if record.image:
        yield f"in image {record.image}"
    if record.build_line is not None:
        yield f"built by {record.build_line.line} ({whose(record.build_line)})"
        said = record.compiler.stdout.strip().splitlines() if record.compiler else []
        yield f"compiler: {said[-1].strip() if said else 'unknown'}"
    if record.file is not None:
        yield f"{record.file}: SHA-256 {record.file_sha256}"
    files = counted(record.checkout.files, "file")
    yield f"checkout: {files}, SHA-256 {record.checkout.sha256}"
    yield f"answers: {', '.join(figure.claim for figure in described.figures)}"


def _figures(described: OriginalSource, runs: Sequence[LineRun]) -> Iterator[fmt.Fact]:
    """Yield each figure run by run, under the words that it was found by."""
    for figure in described.figures:
        pattern = parse_reader(figure.pattern)
        values = [pattern.values(run.stdout, figure.take) for run in runs]
        shown = ", ".join(" or ".join(map(fmt.number, value)) or "none" for value in values)
        if shown:
            yield fmt.Fact(figure.pattern, shown)


def original_rows(catalog: Catalog, evidence: Evidence) -> Iterator[fmt.Row]:
    """Yield how each program was built that a claim of the plan, or a reading, calls for."""
    named = {
        evaluation.program
        for claim in catalog.claims_of(evidence.plan.sources, evidence.plan.claims)
        for _, evaluation in programs_of(claim)
    }
    for program in (catalog.programs[name] for name in sorted(named)):
        asserts = {
            arch: build.asserts
            for (name, arch), build in builds_of(evidence).items()
            if name == program.id and build.status == "built"
        }
        records = [each for each in evidence.programs.values() if each.program == program.id]
        checks = [_own_check(program, record) for record in records]
        yield {
            "program": program,
            "build": BUILDS[program.build],
            "asserts": "; ".join(f"{arch}: {ASSERTS[found]}" for arch, found in asserts.items())
            or "not built here",
            "has_asserts": any(asserts.values()),
            "check": _told(checks),
            "failed": False in checks,
        }


def _own_check(program: OriginalProgram, record: ProgramRecord) -> bool | None:
    """Return whether the program's own check passed with one list of arguments; None: not known."""
    try:
        found = [outputs.parse(program.parser, run.stdout) for run in record.runs]
    except outputs.MalformedOutput:
        return None
    figures = {name for output in found for name in (*output.figures, *output.failed)}
    passed = {verification(program, record, found, name)[0] for name in figures}
    if False in passed:
        return False
    return None if None in passed or not passed else True


def _told(checks: Sequence[bool | None]) -> str:
    parts = [
        f"{words} with {counted(checks.count(outcome), 'list', 'lists')} of arguments"
        for outcome, words in ((True, "passed"), (False, "failed"), (None, "not known"))
        if outcome in checks
    ]
    return "; ".join(parts) or "it did not run"


def file_compile_rows(evidence: Evidence) -> Iterator[fmt.Row]:
    """Yield every file that was compiled as published, in this run or where figures come from."""
    for key, record in sorted(evidence.file_compiles.items()):
        facts = (
            f"SHA-256 {record.file_sha256}",
            f"nvcc {record.toolchain.nvcc}, {record.toolchain.host_compiler}",
            f"exit code {record.exit_code}",
            "the command line is ours",
        )
        place = fmt.link(f"evidence/{evidence.file_compile_paths[key]}")
        yield {"record": record, "facts": facts, "link": place}

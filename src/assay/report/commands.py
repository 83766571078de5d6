"""The commands' part of the report: original programs as typed, as stated and as they ran."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import program_path
from assay.judging import cutlass_output as programs
from assay.records.claims import Claim
from assay.records.evaluations import Invocation, Program
from assay.records.measurements import ProgramRecord
from assay.report import formatting as fmt
from assay.report.facts import Fact
from assay.report.links import Link, link


@dataclass(frozen=True)
class CommandRow:
    """One program with one list of arguments on one target."""

    target: str
    title: str
    command: str
    roles: tuple[str, ...]
    ran: str
    stated: str | None
    agrees: str | None
    """``yes`` or ``no``: whether the reported shape is the stated one; None without either."""
    figures: tuple[Fact, ...]
    runs: str
    link: Link | None


def programs_of(claim: Claim) -> Iterator[tuple[str | None, Program]]:
    """Yield the programs that answer a claim: its own, then each reading's with its id."""
    own: list[tuple[str | None, object]] = [(None, claim.evaluation)]
    for reading, evaluation in [*own, *((r.id, r.evaluation) for r in claim.readings)]:
        if isinstance(evaluation, Program):
            yield reading, evaluation


def command_rows(catalog: Catalog, evidence: Evidence) -> tuple[CommandRow, ...]:
    """Return every program run that a claim of the plan, or a reading of one, calls for.

    The stated problem is the claim's; a reading's own where no claim runs that command.
    """
    wanted: dict[str, tuple[str, tuple[str, ...]]] = {}
    roles: dict[str, dict[str, list[str]]] = {}
    stated: dict[str, list[Invocation]] = {}
    read: dict[str, list[Invocation]] = {}
    for claim in catalog.claims_of(evidence.plan.sources, evidence.plan.claims):
        for reading, evaluation in programs_of(claim):
            for arguments, role in (
                (evaluation.typed, "as typed"),
                (evaluation.stated.arguments, "as stated"),
            ):
                if arguments is None:
                    continue
                job = programs.job_id(evaluation.program, arguments)
                wanted[job] = (evaluation.program, arguments)
                named = role if reading is None else f"reading {reading}"
                users = roles.setdefault(job, {}).setdefault(named, [])
                if claim.id not in users:
                    users.append(claim.id)
                problems = stated if reading is None else read
                problems.setdefault(job, []).append(evaluation.stated)
    rows = []
    for job, started in wanted.items():
        measured: list[tuple[str, ProgramRecord | None]] = [
            (target, record) for (target, name), record in evidence.programs.items() if name == job
        ]
        for target, record in measured or [("", None)]:
            rows.append(
                _command_row(
                    catalog,
                    target,
                    job,
                    started,
                    roles[job],
                    stated.get(job, read.get(job, [])),
                    record,
                )
            )
    return tuple(rows)


def _command_row(
    catalog: Catalog,
    target: str,
    job: str,
    started: tuple[str, tuple[str, ...]],
    roles: Mapping[str, Sequence[str]],
    stated: Sequence[Invocation],
    record: ProgramRecord | None,
) -> CommandRow:
    program, arguments = started
    described = catalog.programs[program]
    shapes = [dict(invocation.shape) for invocation in stated]
    ran: str = "not run here"
    agrees: str | None = None
    printed: Mapping[str, list[float]] = {}
    if record is not None:
        reported, printed, problems = _parse(catalog, record)
        ran = "; ".join([fmt.shape(shape) for shape in reported] + problems) or "nothing printed"
        if reported and any(shapes):
            same = all(_holds(shape, given) for shape in shapes for given in reported)
            agrees = "yes" if same else "no"
    return CommandRow(
        target=target,
        title=described.title,
        command=" ".join((described.source.rsplit("/", 1)[-1].removesuffix(".cu"), *arguments)),
        roles=tuple(f"{role}: {', '.join(claims)}" for role, claims in roles.items()),
        ran=ran,
        stated="; ".join(dict.fromkeys(fmt.shape(shape) for shape in shapes if shape)) or None,
        agrees=agrees,
        figures=tuple(
            Fact(fmt.words(name), ", ".join(fmt.number(value) for value in values))
            for name, values in printed.items()
        ),
        runs=_runs(record),
        link=link(f"evidence/{program_path(target, job)}") if record else None,
    )


def _holds(stated: Mapping[str, int | bool], reported: Mapping[str, int | bool]) -> bool:
    return all(reported.get(key) == value for key, value in stated.items())


def _parse(
    catalog: Catalog, record: ProgramRecord
) -> tuple[list[programs.Shape], dict[str, list[float]], list[str]]:
    """Distinct shapes, every printed figure run by run, and what could not be read."""
    shapes: list[programs.Shape] = []
    values: dict[str, list[float]] = {}
    problems: list[str] = []
    for run in record.runs:
        try:
            parsed = programs.parse(catalog.programs[record.program].parser, run.stdout)
        except programs.MalformedOutput as error:
            problems.append(str(error))
            continue
        if parsed.shape not in shapes:
            shapes.append(parsed.shape)
        for name, value in parsed.figures.items():
            values.setdefault(name, []).append(value)
    return shapes, values, list(dict.fromkeys(problems))


def _runs(record: ProgramRecord | None) -> str:
    if record is None:
        return "none"
    failed = [run.exit_code for run in record.runs if run.exit_code != 0]
    text = f"{len(record.runs)}"
    return text + (f", {len(failed)} with exit code {failed[0]}" if failed else "")

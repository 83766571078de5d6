"""The commands' part of the report: sources' own programs, from checkouts that the user had."""

from collections.abc import Iterator, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import original_path
from assay.judging.own_program import sizes_printed
from assay.records.originals import GivenLine, LineRun, OriginalRunRecord, OriginalSource
from assay.report import formatting as fmt
from assay.report.commands import CommandRow
from assay.report.facts import Fact
from assay.report.links import link
from assay.shared.counting import counted
from assay.shared.output_readers import parse_reader


def own_program_rows(catalog: Catalog, evidence: Evidence) -> tuple[CommandRow, ...]:
    """Return every program that ran in a copy of a checkout, with whose lines built and ran it."""
    return tuple(
        row
        for (target, _), record in evidence.originals.items()
        if (described := catalog.sources[record.source].own_program(record.original)) is not None
        for row in _rows(target, described, record)
    )


def _rows(
    target: str, described: OriginalSource, record: OriginalRunRecord
) -> Iterator[CommandRow]:
    """Yield a row on each line that ran: that of the stated problem, and the one that is typed."""
    first = "run line" if record.typed_line is None else "of the stated problem: run line"
    series = [(first, record.run_line, record.runs)]
    if record.typed_line is not None:
        series.append(("as typed: run line", record.typed_line, record.typed_runs))
    for called, line, runs in series:
        failed = [run.exit_code for run in runs if run.exit_code != 0]
        told = f"{len(runs)}" + (f", {len(failed)} with exit code {failed[0]}" if failed else "")
        yield CommandRow(
            target=target,
            title=f"source {record.source}'s own program, in a checkout that the user had",
            command=line.line,
            roles=(f"{called} {_whose(line)}", *_roles(described, record)),
            ran=_problem(described, runs),
            stated=None,
            agrees=None,
            figures=_figures(described, record, runs),
            runs=told if runs else "none",
            link=link(f"evidence/{original_path(target, record.original)}"),
        )


def _problem(described: OriginalSource, runs: Sequence[LineRun]) -> str:
    """Return the sizes that the runs of a line print."""
    if not runs:
        return "did not run"
    return sizes_printed(described, runs[0].stdout) or "what it ran, it does not say"


def _roles(described: OriginalSource, record: OriginalRunRecord) -> tuple[str, ...]:
    """Return what compiled it, and the digests of what was compiled."""
    parts = [f"in image {record.image}"] if record.image else []
    if record.build_line is not None:
        parts.append(f"built by {record.build_line.line} ({_whose(record.build_line)})")
        said = record.compiler.stdout.strip().splitlines() if record.compiler else []
        parts.append(f"compiler: {said[-1].strip() if said else 'unknown'}")
    if record.file is not None:
        parts.append(f"{record.file}: SHA-256 {record.file_sha256}")
    files = counted(record.checkout.files, "file")
    parts.append(f"checkout: {files}, SHA-256 {record.checkout.sha256}")
    return (*parts, f"answers: {', '.join(figure.claim for figure in described.figures)}")


def _whose(line: GivenLine) -> str:
    return "as the source types it" if line.by == "source" else "as the user gave it"


def _figures(
    described: OriginalSource, record: OriginalRunRecord, runs: Sequence[LineRun]
) -> tuple[Fact, ...]:
    """Return each figure run by run, under the words that it was found by."""
    facts = []
    for figure in map(record.find_by, described.figures):
        pattern = parse_reader(figure.pattern)
        values = [pattern.values(run.stdout, figure.take) for run in runs]
        shown = ", ".join(" or ".join(map(fmt.number, value)) or "none" for value in values)
        if shown:
            whose = " (the user's pattern)" if record.gave(figure.claim) else ""
            facts.append(Fact(f"{figure.pattern}{whose}", shown))
    return tuple(facts)

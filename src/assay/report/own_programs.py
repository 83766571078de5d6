"""The commands' part of the report: sources' own programs, from checkouts that the user had."""

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import original_path
from assay.records.originals import GivenLine, OriginalRunRecord, OriginalSource
from assay.report import formatting as fmt
from assay.report.claims import Fact
from assay.report.commands import CommandRow
from assay.report.links import link
from assay.shared.counting import counted
from assay.shared.output_readers import parse_reader


def own_program_rows(catalog: Catalog, evidence: Evidence) -> tuple[CommandRow, ...]:
    """Return every program that ran in a copy of a checkout, with whose lines built and ran it."""
    return tuple(
        _row(target, described, record)
        for (target, _), record in evidence.originals.items()
        if (described := catalog.sources[record.source].original) is not None
    )


def _row(target: str, described: OriginalSource, record: OriginalRunRecord) -> CommandRow:
    failed = [run.exit_code for run in record.runs if run.exit_code != 0]
    runs = f"{len(record.runs)}" + (f", {len(failed)} with exit code {failed[0]}" if failed else "")
    return CommandRow(
        target=target,
        title=f"source {record.source}'s own program, in a checkout that the user had",
        command=record.run_line.line,
        roles=_roles(described, record),
        ran="what it ran, it does not say" if record.runs else "did not build",
        stated=None,
        agrees=None,
        figures=_figures(described, record),
        runs=runs if record.runs else "none",
        link=link(f"evidence/{original_path(target, record.original)}"),
    )


def _roles(described: OriginalSource, record: OriginalRunRecord) -> tuple[str, ...]:
    """Return whose lines they are, what compiled it, and the digests of what was compiled."""
    parts = [f"run line {_whose(record.run_line)}"]
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


def _figures(described: OriginalSource, record: OriginalRunRecord) -> tuple[Fact, ...]:
    """Return each figure run by run, under the words that it was found by."""
    facts = []
    for figure in map(record.find_by, described.figures):
        pattern = parse_reader(figure.pattern)
        values = [pattern.values(run.stdout, figure.take) for run in record.runs]
        shown = ", ".join(" or ".join(map(fmt.number, value)) or "none" for value in values)
        if shown:
            whose = " (the user's pattern)" if record.gave(figure.claim) else ""
            facts.append(Fact(f"{figure.pattern}{whose}", shown))
    return tuple(facts)

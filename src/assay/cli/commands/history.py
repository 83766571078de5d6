"""``./assay history``: follow one claim through every report."""

from collections.abc import Sequence
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.yaml_problems import meant_by
from assay.catalog.load import load_catalog
from assay.cli import checkout, console
from assay.cli.given_reports import given_reports, reports_on
from assay.cli.options import KeyOption, ProjectOption, ReportsArgument, project_folder
from assay.findings.claim_history import HistoryLine, claim_history
from assay.findings.replication import again_in_history, again_line
from assay.findings.report_comparison import GivenReport
from assay.records.report_figures import ReportFigure
from assay.report.comparison_page import carriers, cell
from assay.shared.counting import counted

COLUMNS = (
    console.TableColumn("target"),
    console.TableColumn("measured"),
    console.TableColumn("figure", prose=True),
    console.TableColumn("changed", prose=True),
    console.TableColumn("card"),
    console.TableColumn("driver"),
    console.TableColumn("commit"),
    console.TableColumn("reports", prose=True),
)

COMPILED = ("builds", "fails")


def history(
    claim: Annotated[str, typer.Argument(help="Claim or audit id.")],
    report_dirs: ReportsArgument = None,
    key: KeyOption = None,
    project: ProjectOption = None,
) -> None:
    """Show one claim through all reports: each measurement once."""
    folder = project_folder(project)
    paths = report_dirs or reports_on(claim, folder)
    reports = list(given_reports(paths, key, folder))
    lines = claim_history(claim, [report.figures for report in reports])
    if not lines:
        known = {name for report in reports for name in report.figures.claims}
        known |= set(load_catalog(checkout.ROOT).claims)
        meant = None if claim in known else meant_by(claim, known)
        hint = f"did you mean '{meant}'?" if meant else "./assay claims lists all"
        raise BadInput(f"no report says anything of '{claim}': {hint}")
    rows = [_row(line, reports) for line in lines]
    console.show_table(_title(claim, lines, reports), COLUMNS, rows)


def _title(claim: str, lines: Sequence[HistoryLine], reports: Sequence[GivenReport]) -> str:
    said = [r.figures.claims[claim] for r in reports if claim in r.figures.claims]
    figure = lines[-1].last.figure
    title, claimed = (f": {said[-1].title}", said[-1].claimed) if said else ("", "")
    measured = sum(line.last.machine is not None for line in lines)
    changes = sum(line.before is not None for line in lines)
    carried = len({entry.place for line in lines for entry in line.entries})
    how = counted(measured, "measurement") if measured else _without_gpu(figure)
    return (
        f"{claim}{title}\n{f'claimed: {claimed}, ' if claimed else ''}source {figure.source}\n"
        f"{how} in {counted(carried, 'report')}, the oldest first; "
        f"{counted(changes, 'change')} of status\n"
        f"{again_line(again_in_history(lines, [report.measurer for report in reports]))}"
    )


def _without_gpu(figure: ReportFigure) -> str:
    by = "by compiling" if figure.measured in COMPILED else "without a GPU"
    return f"answered {by}" if figure.answered else "not measured"


def _row(line: HistoryLine, reports: Sequence[GivenReport]) -> tuple[str, ...]:
    last, on = line.last, line.last.machine
    status = [] if line.before is None else [f"{line.before} before"]
    figure = f"{reports[last.place].mark}{cell(last.figure)}"
    card = (on.gpu_uuid[:12], on.driver, (on.commit or "")[:12]) if on else ("", "", "")
    return (
        last.target,
        last.at[:16].replace("T", " ") if on else _without_gpu(last.figure),
        "; ".join([figure, *line.judged_otherwise()]),
        ", ".join([*status, *line.changed]),
        *card,
        carriers(line, {entry.place: reports[entry.place].name for entry in line.entries}),
    )

"""``./assay history``: one claim through every report."""

from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.cli import checkout, console
from assay.cli.given_reports import given_reports
from assay.cli.options import FreshOption, KeyOption, ReportsArgument
from assay.cli.tables import TableColumn, show_table
from assay.findings.claim_history import HistoryEntry, claim_history
from assay.findings.given_report import GivenReport
from assay.report.comparison_page import cell
from assay.shared.counting import counted
from assay.verification.trust import published_reports

COLUMNS = (
    TableColumn("target"),
    TableColumn("measured"),
    TableColumn("figure", prose=True),
    TableColumn("changed", 1, prose=True),
    TableColumn("card", 2),
    TableColumn("driver", 4),
    TableColumn("commit", 3),
    TableColumn("report", prose=True),
)


def history(
    claim: Annotated[str, typer.Argument(help="Claim or audit id.")],
    report_dirs: ReportsArgument = None,
    key: KeyOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    fresh: FreshOption = False,
) -> None:
    """Show one claim through all reports: runs, cards, changes."""
    paths = report_dirs or published_reports(checkout.ROOT)
    reports = list(given_reports(paths, key, fresh=fresh))
    entries = claim_history(claim, [report.figures for report in reports])
    if not entries:
        raise BadInput(f"no report says anything of '{claim}' (./assay claims lists all)")
    if as_json:
        console.show_json([_document(entry, reports[entry.place]) for entry in entries])
        return
    changes = sum(entry.before is not None for entry in entries)
    title = (
        f"{claim}: {counted(len(entries), 'verdict')} of {counted(len(reports), 'report')}, "
        f"{counted(changes, 'change')} of status"
    )
    rows = [_row(entry, reports[entry.place]) for entry in entries]
    show_table(console.out, console.err, title, COLUMNS, rows)


def _row(entry: HistoryEntry, report: GivenReport) -> tuple[str, ...]:
    on = entry.machine
    status = [] if entry.before is None else [f"{entry.before} before"]
    return (
        entry.target,
        entry.at[:16].replace("T", " ") if on else "not measured",
        ("" if report.verified else "unverified, ") + cell(entry.figure),
        ", ".join([*status, *entry.changed]),
        on.gpu_uuid[:12] if on else "",
        on.driver if on else "",
        (on.commit or "")[:12] if on else "",
        report.name,
    )


def _document(entry: HistoryEntry, report: GivenReport) -> dict[str, object]:
    return {
        "report": report.name,
        "verified": report.verified,
        "manifest_sha256": report.figures.manifest_sha256,
        "target": entry.target or None,
        "at": entry.at,
        "figure": entry.figure.model_dump(mode="json"),
        "machine": entry.machine and entry.machine.model_dump(mode="json"),
        "status_before": entry.before,
        "changed": list(entry.changed),
    }

"""``./assay claims``: list claims and audits with their verdicts."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli import checkout, console
from assay.cli.console import TableColumn
from assay.cli.project_folder import ProjectOption, home, project_folder
from assay.findings.claimed_figures import COMPUTED, RELATIONS
from assay.judging.causes import with_known_causes
from assay.records.attestation import VERDICTS
from assay.records.claims import Audit, Claim
from assay.records.verdicts import Status, Verdict, VerdictsFile
from assay.report import formatting as fmt
from assay.shared.counting import counted
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trust import published_reports

Row = dict[str, Any]
COLUMNS = (
    TableColumn("claim"),
    TableColumn("verdict", prose=True),
    TableColumn("claimed"),
    TableColumn("source:line"),
    TableColumn("target"),
    TableColumn("statement", prose=True),
)


def claims(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    source: Annotated[list[str] | None, typer.Option(help="Source id; repeatable.")] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Verdict in the newest published report, as not_run; repeatable."),
    ] = None,
    project: ProjectOption = None,
) -> None:
    """List claims and audits: where each stands, how it is answered."""
    known = [each.value for each in Status]
    for name in status or ():
        if name not in known:
            raise BadInput(f"there is no status '{name}'; known: {', '.join(known)}")
    folder = project_folder(project)
    catalog = load_catalog(checkout.ROOT, folder)
    catalog.check_selection(source or (), ())
    report = next(iter(published_reports(home(folder))), None)
    rows = claim_rows(catalog, _verdicts_of(report) if report else (), source or ())
    if status:
        rows = [row for row in rows if any(v["status"] in status for v in row["verdicts"])]
    if as_json:
        console.show_json(rows)
    else:
        _show(rows, report_name(report) if report else None)


def _verdicts_of(report: Path) -> Sequence[Verdict]:
    """Return the verdicts of a report, of which nothing is verified."""
    with opened_report(report) as folder:
        return with_known_causes(read_record(VerdictsFile, folder / VERDICTS).verdicts)


def claim_rows(
    catalog: Catalog, verdicts: Iterable[Verdict] = (), sources: Collection[str] = ()
) -> list[Row]:
    """Return claims and audits of ``sources`` (all, when none is named), by source, in file order.

    A row's ``kind`` is ``claim`` for a printed figure or statement and ``audit`` for a relation
    between figures that the source does not print; both get a verdict under the id in ``claim``.
    """
    rows = []
    for source, file in catalog.sources.items():
        if not sources or source in sources:
            entries: tuple[Claim | Audit, ...] = (*file.claims, *file.audits)
            rows += [_row(catalog, entry, source) for entry in entries]
    told: dict[str, list[Row]] = {}
    for verdict in verdicts:
        told.setdefault(verdict.claim, []).append(_of_verdict(verdict))
    return [{**row, "verdicts": told.get(row["claim"], [])} for row in rows]


def _row(catalog: Catalog, entry: Claim | Audit, source: str) -> Row:
    row: Row = {
        "claim": entry.id,
        "source": source,
        "section": entry.place.section,
        "line": entry.place.line,
        "page": entry.place.page,
        "statement": entry.statement,
        "kind": "claim",
        "value": None,
        "to": None,
        "about": False,
        "unit": None,
        "computed": None,
        "target": None,
        "targets": [],
    }
    if isinstance(entry, Claim):
        return row | {
            "value": entry.value,
            "to": entry.to,
            "about": entry.about,
            "unit": entry.unit.value if entry.unit else None,
            "computed": entry.computed,
            "relation": entry.relation.value,
            "target": entry.hardware.target,
            "targets": list(entry.hardware.targets),
        }
    printed = entry.claimed
    named = catalog.claims[printed.claim] if printed and printed.claim else None
    stated = named or printed
    return row | {
        "kind": "audit",
        "value": stated.value if stated else None,
        "unit": named.unit.value if named and named.unit else None,
        "relation": "equals" if entry.formula.claims_a_figure else entry.formula.value,
    }


def _of_verdict(verdict: Verdict) -> Row:
    return {
        "target": verdict.target,
        "status": verdict.status.value,
        "reason": verdict.reason,
        "why": verdict.why and verdict.why.value,
        "as_if": verdict.as_if and verdict.as_if.value,
        "readings": [{"id": each.id, "holds": each.holds} for each in verdict.readings],
    }


def _show(rows: Sequence[Row], report: str | None) -> None:
    """Print the rows; ``report`` is the one that their verdicts stand in."""
    counts = Counter(row["kind"] for row in rows)
    title = f"{counted(counts['claim'], 'claim')}, {counted(counts['audit'], 'audit')}"
    where = f"; verdicts of {report}" if report else ""
    cells = [
        (
            row["claim"],
            ", ".join(_standing(each, row["verdicts"]) for each in row["verdicts"]) or "none",
            claimed(row),
            f"{row['source']}:{row['line']}",
            ", ".join(row["targets"]) or ("any" if row["kind"] == "claim" else "none"),
            row["statement"],
        )
        for row in rows
    ]
    console.show_table(f"{title} of their arithmetic{where}", COLUMNS, cells)


def claimed(row: Mapping[str, Any]) -> str:
    """Return a listed claim's figure, marked where its source does not print it itself."""
    if row["value"] is None:
        return ""
    ends = [fmt.printed(end, None) for end in (row["value"], row["to"]) if end is not None]
    digits = f"{'~' if row['about'] else ''}{'-'.join(ends)}"
    bound = "" if row["to"] is not None else RELATIONS.get(row["relation"], "")
    figure = f"{bound}{fmt.with_unit(digits, row['unit'])}"
    return f"{figure}{COMPUTED}" if row["computed"] else figure


def _standing(verdict: Row, every: Sequence[Row]) -> str:
    """Return a verdict in short: its status, what it would be elsewhere, or its cause."""
    beside = f"there: {verdict['as_if']}" if verdict["as_if"] else verdict["why"]
    said = f"{verdict['status']} ({beside})" if beside else str(verdict["status"])
    return f"{verdict['target']}: {said}" if len(every) > 1 or verdict["as_if"] else said

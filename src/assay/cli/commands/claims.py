"""``./assay claims``: list what is claimed, what was measured, and the verdicts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.base.yaml_problems import suggest
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli import checkout, console
from assay.cli.options import ProjectOption, project_folder
from assay.findings.headline import KINDS, outcomes
from assay.findings.report_figures import claimed_figure
from assay.judging import RULES
from assay.judging.causes import with_known_causes
from assay.judging.counts import outcome, rows_by_claim
from assay.records.attestation import VERDICTS
from assay.records.claims import Audit, Claim
from assay.records.units import with_unit
from assay.records.verdicts import Status, Verdict, VerdictsFile
from assay.report.counts import came_out, with_another
from assay.report.verdict_text import lead_of, verdict_text
from assay.shared.counting import counted
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trust import may_speak_of, project_reports, published_reports

Row = dict[str, Any]
OF_VERDICT: dict[str, Any] = {
    **dict.fromkeys(
        ("target", "status", "measured", "ci90", "unit", "reason", "why", "as_if"), True
    ),
    "readings": {"__all__": {"id", "holds"}},
}
COLUMNS = (
    console.TableColumn("claim"),
    console.TableColumn("claimed"),
    console.TableColumn("predicted", prose=True),
    console.TableColumn("measured"),
    console.TableColumn("verdict", prose=True),
    console.TableColumn("why", prose=True),
    console.TableColumn("source:line"),
    console.TableColumn("target"),
    console.TableColumn("statement", prose=True, alone=True),
)


def claims(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    source: Annotated[list[str] | None, typer.Option(help="Source id; repeatable.")] = None,
    status: Annotated[
        list[str] | None, typer.Option(help="Verdict on the claim, such as not_run; repeatable.")
    ] = None,
    project: ProjectOption = None,
) -> None:
    """List claims and audits: what is claimed, what was measured, how it came out."""
    known = [each.value for each in Status]
    status = [name.lower().replace(" ", "_") for name in status or ()]
    for name in status:
        if name not in known:
            meant = suggest(name, known) or f"; known: {', '.join(known)}"
            raise BadInput(f"there is no status '{name}'{meant}")
    folder = project_folder(project)
    catalog = load_catalog(checkout.ROOT, folder)
    catalog.check_selection(source or (), ())
    reports = published_reports(checkout.ROOT) if folder is None else project_reports(folder)
    by_report: dict[str, list[Verdict]] = {}
    for asked in dict.fromkeys(source or catalog.sources):  # hardly a report speaks of all
        for report, found in _told(reports, catalog, asked):
            by_report.setdefault(report_name(report), []).extend(found)
    of = rows_by_claim(verdict for verdicts in by_report.values() for verdict in verdicts)
    rows = claim_rows(catalog, of, source or ())
    if status:
        rows = [row for row in rows if {row["status"], row["outcome"]} & {*status}]
    if as_json:
        console.show_json(rows)
        return
    lines = [counted(len(rows), "claim")]
    listed = {row["claim"]: row["outcome"] for row in rows}
    for name, verdicts in by_report.items():
        shown = listed.keys() & {each.claim for each in verdicts}
        lines += [f"by report {name}:"] if shown else []
        once = [e for e in outcomes(catalog, verdicts) if listed.get(e.lead.claim) == e.status]
        for kind, words in KINDS.items():
            if counts_so := [each for each in once if each.kind == kind]:
                lines.append(f"  {counted(len(counts_so), *words)}: {came_out(counts_so)}")
        if (others := len(shown) - len(once)) > 0:
            lines.append(f"  {with_another(others)}")
    if silent := [row for row in rows if row["status"] is None]:
        lines.append(f"by no report: {counted(len(silent), 'claim')}")
    console.show_table("\n".join(lines), COLUMNS, [_cells(catalog, row, of) for row in rows])


def _told(
    reports: Sequence[Path], catalog: Catalog, source: str
) -> Iterator[tuple[Path, Sequence[Verdict]]]:
    """Yield a source's unverified verdicts, each of the first report by today's rules, else by
    the latest.
    """
    left, told = {each.id for each in catalog.sources[source].claims}, set[str]()
    earlier = dict[Path, VerdictsFile]()

    def new(file: VerdictsFile) -> Sequence[Verdict]:
        found = [v for v in file.verdicts if catalog.source_of.get(v.claim) == source]
        found = [verdict for verdict in found if verdict.claim not in told]
        told.update(verdict.claim for verdict in found)
        left.difference_update(told)
        return with_known_causes(found)

    for report in reports:
        if left and may_speak_of(report, left):
            with opened_report(report) as opened:
                file = read_record(VerdictsFile, opened / VERDICTS)
            if file.rules == RULES:
                yield report, new(file)
            else:
                earlier[report] = file
    for report, file in sorted(earlier.items(), key=lambda each: -each[1].rules):
        yield report, new(file)


def claim_rows(
    catalog: Catalog, of: Mapping[str, Sequence[Verdict]], sources: Collection[str] = ()
) -> list[Row]:
    """Return claims and audits of ``sources`` (all, when none is named), by source, in file order.
    ``kind`` is ``claim`` for what is printed, ``audit`` for a relation between printed figures;
    ``status`` that of the verdict it counts by, ``outcome`` what the page says (elsewhere: would
    be), or None.
    """
    rows = []
    for source, file in catalog.sources.items():
        entries: tuple[Claim | Audit, ...] = (*file.claims, *file.audits)
        for entry in entries if not sources or source in sources else ():
            verdicts = of.get(entry.id, ())
            row = _row(catalog, entry, source)
            lead = lead_of(verdicts) if verdicts else None
            row["status"], row["outcome"] = lead and lead.status, lead and outcome(lead)
            shown = (each.model_dump(mode="json", include=OF_VERDICT) for each in verdicts)
            row["verdicts"] = [{name: each[name] for name in OF_VERDICT} for each in shown]
            rows.append(row)
    return rows


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
        "predicted": [],
    }
    if isinstance(entry, Claim):
        own = {"value", "to", "about", "unit", "computed", "relation"}
        row |= entry.model_dump(mode="json", include=own)
        row["predicted"] = [
            {"claim": each.id, "source": catalog.source_of[each.id]}
            | each.model_dump(mode="json", include={"value", "to", "unit", "computed"})
            for each in catalog.claims.values()
            if entry.id in each.predicts
        ]
        return row | {"target": entry.hardware.target, "targets": list(entry.hardware.targets)}
    printed = entry.claimed
    named = catalog.claims[printed.claim] if printed and printed.claim else None
    stated = named or printed
    return row | {
        "kind": "audit",
        "value": stated.value if stated else None,
        "unit": named.unit.value if named and named.unit else None,
        "relation": "equals" if entry.formula.claims_a_figure else entry.formula.value,
    }


def _cells(catalog: Catalog, row: Row, of: Mapping[str, Sequence[Verdict]]) -> tuple[str, ...]:
    """Return the cells of ``COLUMNS``, by the verdict that the claim counts by."""
    entry = catalog.claims.get(row["claim"]) or catalog.audits[row["claim"]]
    claimed = claimed_figure(row["value"], row["unit"], row["relation"], entry, catalog.claims)
    measured = word = why = ""
    target = ", ".join(row["targets"]) or ("any" if row["kind"] == "claim" else "none")
    if verdicts := of.get(row["claim"]):
        lead = lead_of(verdicts)
        text = verdict_text(catalog, lead)
        if lead.measured is not None:
            measured = f"{text.measured}{' rebuilt' if text.rebuilt else ''}"
        away = "on another GPU, " if lead.status is Status.ELSEWHERE else ""
        word, why = f"{away}{text.status.word}", lead.why.short if lead.why else ""
        target = f"{lead.target} for {text.instead_of}" if text.instead_of else target
    place = f"{row['source']}:{row['line']}"
    foretold = (catalog.claims[each["claim"]] for each in row["predicted"])
    predicted = ", ".join(
        f"{with_unit(each.as_printed, each.unit)} by {catalog.source_of[each.id]}"
        f"{f' ({each.computed})' if each.computed else ''}"
        for each in foretold
    )
    shown = (row["claim"], claimed, predicted, measured, word or "none", why, place, target)
    return *shown, row["statement"]

"""The README's result table, generated from a published report's verdicts.

``python -m tools.readme_table`` prints it for the newest published report; ``--write`` puts it into
README.md between its markers. A test compares the two.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_record, read_text
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.records.manifest import VERDICTS
from assay.records.verdicts import Status, Verdict, VerdictsFile
from assay.report.formatting import interval, quantity
from assay.shared.files import write_bytes
from assay.verification.report_archive import is_archive
from assay.verification.trust import published_reports

BEGIN = "<!-- results: begin (python -m tools.readme_table --write) -->"
END = "<!-- results: end -->"


def result_tables(catalog: Catalog, verdicts: VerdictsFile, report: str) -> str:
    """Markdown: where it was measured, counts by source, and every verdict with a measured figure
    of a benchmark or a program."""
    entries = verdicts.verdicts
    parts = (_measured_on(entries, report), _counts(catalog, entries), _rows(catalog, entries))
    return "\n\n".join("\n".join(lines) for lines in parts)


def _measured_on(entries: Iterable[Verdict], report: str) -> list[str]:
    places = sorted(
        {
            (v.measured_on.product, v.measured_on.driver, v.measured_on.recorded_at[:10])
            for v in entries
            if v.measured_on is not None
        }
    )
    told = "; ".join(f"{product}, driver {driver}, {day}" for product, driver, day in places)
    return [f"From [`{report}`]({report}/report.md), measured on {told}."]


def _counts(catalog: Catalog, entries: Iterable[Verdict]) -> list[str]:
    counts = Counter((v.source, v.status) for v in entries)
    statuses = [s for s in Status if any(counts[source, s] for source in catalog.sources)]
    lines = [
        "| source | " + " | ".join(s.value for s in statuses) + " |",
        "|---|" + "---:|" * len(statuses),
    ]
    for source in catalog.sources:
        cells = [str(counts[source, s] or "") for s in statuses]
        lines.append(f"| {source} | " + " | ".join(cells) + " |")
    return lines


def _rows(catalog: Catalog, entries: Iterable[Verdict]) -> list[str]:
    lines = [
        "| claim | stands at | claimed | measured, 90 % interval | verdict |",
        "|---|---|---:|---:|---|",
    ]
    for v in entries:
        claim = catalog.claims.get(v.claim)
        if claim is None or v.ci90 is None or not isinstance(v.measured, float):
            continue
        sign = {"at_least": "≥ ", "at_most": "≤ "}.get(claim.relation.value, "")
        status = v.status.value + (f" ({v.reason})" if v.reason else "")
        lines.append(
            f"| {claim.statement} | {v.source}:{claim.place.line} "
            f"| {sign}{quantity(claim.value, v.unit)} "
            f"| {quantity(v.measured, v.unit)} {interval(v.ci90) or ''} | {status} |"
        )
    return lines


def newest_tables(root: Path) -> str:
    """The tables of the newest published report. Raises BadInput where there is none."""
    reports = published_reports(root)
    if not reports:
        raise BadInput("reports/published holds no report")
    report = reports[0]
    if is_archive(report):
        raise BadInput(f"{report}: the newest report, which README.md links into, is an archive")
    verdicts = read_record(VerdictsFile, report / VERDICTS)
    name = report.relative_to(root).as_posix()
    return result_tables(load_catalog(report / "evidence"), verdicts, name)


def replaced(text: str, tables: str) -> str:
    """``text`` with the part between the markers replaced. Raises BadInput without markers."""
    if BEGIN not in text or END not in text:
        raise BadInput("README.md has no markers for the result table")
    head, rest = text.split(BEGIN, 1)
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{rest.split(END, 1)[1]}"


def main(arguments: list[str]) -> None:
    """Print the tables, or write them into README.md."""
    root = Path(__file__).resolve().parents[1]
    tables = newest_tables(root)
    if "--write" in arguments:
        readme = root / "README.md"
        write_bytes(readme, replaced(read_text(readme), tables).encode())
    else:
        sys.stdout.write(tables + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

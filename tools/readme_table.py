"""The README's results, generated from a published report: findings, and one line a source.

``python -m tools.readme_table`` prints them for the newest published report; ``--write`` puts them
into README.md between their markers. A test compares the two.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_record, read_text
from assay.base.printable import capital
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.findings.headline import ELSEWHERE, FIGURES, KINDS, outcomes
from assay.judging.causes import with_known_causes
from assay.judging.counts import Outcome
from assay.records.attestation import VERDICTS
from assay.records.verdicts import INFERRED, Status, Verdict, VerdictsFile
from assay.report.counts import came_out
from assay.report.formatting import markdown
from assay.report.story import Sentence, story
from assay.shared.files import write_bytes
from assay.verification.report_archive import is_archive
from assay.verification.trust import published_reports
from tools.marked_text import between

BEGIN = "<!-- results: begin (python -m tools.readme_table --write) -->"
END = "<!-- results: end -->"
COLUMNS = (FIGURES, ELSEWHERE, "ratios", "probes")
"""What the table counts; relations between printed figures are in the report."""
ROWS = 10
"""Lines of the table, at most: more sources than that share the last one."""


def result_tables(catalog: Catalog, verdicts: VerdictsFile, report: str) -> str:
    """Return Markdown: where it was measured, a finding and the counts of every source."""
    entries = verdicts.verdicts
    once = outcomes(catalog, entries)
    page = f"{report}/report.html"
    told = reversed(story(catalog, entries))
    first = {catalog.source_of[each.rests_on]: each for each in told}
    sentences = [first[name] for name in catalog.sources if name in first]
    found = [_in_markdown(each, page) for each in sentences]
    parts = ([_measured_on(entries, report)], found, _table(catalog, once))
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _in_markdown(sentence: Sentence, page: str) -> str:
    """Return a finding with a link to its evidence in ``page``."""
    return f"- {markdown(sentence.text)} ([evidence]({page}#{sentence.rests_on}))"


def _measured_on(entries: Sequence[Verdict], report: str) -> str:
    places = {
        (v.measured_on.product, v.measured_on.recorded_at[:10])
        for v in entries
        if v.measured_on is not None
    }
    told_places = " and ".join(f"{product} ({day})" for product, day in sorted(places))
    name = report.rsplit("/", 1)[-1]
    return f"Report [{name}]({report}/report.md), measured on {markdown(told_places)}."


def _table(catalog: Catalog, once: Iterable[Outcome]) -> list[str]:
    """Return one line a source; columns that no source has anything in are left out."""
    by_source: dict[str, list[Outcome]] = {source: [] for source in catalog.sources}
    for each in once:
        by_source[each.lead.source].append(each)
    shown = {source: counted for source, counted in by_source.items() if counted}
    names = [*shown] if len(shown) <= ROWS else [*shown][: ROWS - 1]
    lines = [
        (f"{name}: {markdown(catalog.sources[name].source.title)}", shown[name]) for name in names
    ]
    if rest := [each for name in shown if name not in names for each in shown[name]]:
        lines.append((f"{len(shown) - len(names)} more", rest))
    columns = {
        capital(KINDS[kind][1]): [_came_out([e for e in of if e.kind == kind]) for _, of in lines]
        for kind in COLUMNS
    }
    kept = {heading: cells for heading, cells in columns.items() if any(cells)}
    table = [f"| source | {' | '.join(kept)} |", f"|---|{'---|' * len(kept)}"]
    for row, (label, _) in enumerate(lines):
        table.append(f"| {label} | {' | '.join(cells[row] for cells in kept.values())} |")
    return table


def _came_out(things: Sequence[Outcome]) -> str:
    """Return how things that count came out, and how many misstatements are only inferred."""
    words, name = came_out(things), Status.MISSTATED.word
    found = [each.why in INFERRED for each in things if each.status is Status.MISSTATED]
    if not any(found):
        return words
    seems = "it seems" if all(found) else f"{sum(found)} it seems"
    return words.replace(name, f"{name} ({seems})")


def newest_tables(root: Path) -> str:
    """Return the results of the newest published report. Raises BadInput where there is none."""
    reports = published_reports(root)
    if not reports:
        raise BadInput("reports/published holds no report")
    report = reports[0]
    if is_archive(report):
        raise BadInput(f"{report}: the newest report, which README.md links into, is an archive")
    given = read_record(VerdictsFile, report / VERDICTS)
    verdicts = given.model_copy(update={"verdicts": with_known_causes(given.verdicts)})
    name = report.relative_to(root).as_posix()
    return result_tables(load_catalog(report / "evidence"), verdicts, name)


def replaced(text: str, tables: str) -> str:
    """Return ``text`` with what is between the markers replaced. Raises BadInput without them."""
    return between(text, BEGIN, END, tables, Path("README.md"))


def main(arguments: list[str]) -> None:
    """Print the results, or write them into README.md."""
    root = Path(__file__).resolve().parents[1]
    tables = newest_tables(root)
    if "--write" in arguments:
        readme = root / "README.md"
        write_bytes(readme, replaced(read_text(readme), tables).encode())
    else:
        sys.stdout.write(tables + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

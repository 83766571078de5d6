"""What our own kernels and the projects came to, generated from the reports that are published.

``python -m tools.project_results`` prints it; ``--write`` puts a table of the measured figures into
each project's README.md, and a line a document into README.md, between their markers. A test
compares both.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assay.base.io import read_record, read_text
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.findings.headline import ELSEWHERE, counts_of, headed, outcomes
from assay.findings.report_figures import COMPUTED
from assay.judging.causes import with_known_causes
from assay.judging.counts import Outcome, outcome
from assay.records.attestation import VERDICTS
from assay.records.verdicts import Verdict, VerdictsFile
from assay.report import formatting as fmt
from assay.report.counts import told
from assay.report.verdict_text import claimed_text
from assay.shared.files import write_bytes
from assay.verification.report_archive import SUFFIX, opened_report, report_name
from tools.marked_text import between

ROOT = Path(__file__).resolve().parents[1]
BEGIN = "<!-- projects: begin (python -m tools.project_results --write) -->"
END = "<!-- projects: end -->"
COUNTED = (
    "Figures that one measurement answers count once, by the worst of them; ratios of figures, "
    "and what the project asks in its own name, are counted apart. What was not run has no line."
)
OWN = f"reports/published/own_*{SUFFIX}"
KERNELS = (
    "Our kernels, [`bsr_gemm`](kernels/bsr_gemm/README.md) and "
    "[`block_sparse_attention`](kernels/block_sparse_attention/README.md) "
    "([in PyTorch](docs/pytorch.md))"
)
HEAD = ["| figure | claimed | measured, and its 90 % interval | |", "|---|---:|---|---|"]


def archives(root: Path) -> list[Path]:
    """Return the newest report that each project of the repository publishes, by its folder."""
    found: dict[Path, Path] = {}
    for path in sorted(root.glob(f"projects/*/reports/published/*{SUFFIX}")):
        found[path.parents[2]] = path
    return [*found.values()]


def project_tables(root: Path) -> dict[Path, str]:
    """Return what stands between the markers of each README, by its path."""
    tables: dict[Path, str] = {}
    lines = []
    for path in sorted(root.glob(OWN))[-1:]:
        figures, _ = _counts(outcomes(*_judged(path)))
        lines.append(f"- {KERNELS}: {figures}.")
    for path in archives(root):
        folder = path.parents[2]
        catalog, verdicts = _judged(path)
        catalog = _with_computed(catalog, load_catalog(root, folder))
        place = path.relative_to(folder).as_posix()
        where = f"Report [{report_name(path)}]({place}), {_measured_on(verdicts)}."
        once = outcomes(catalog, verdicts)
        figures, relations = _counts(once)
        rows = [*HEAD, *_rows(catalog, verdicts)]
        counted = f"{figures}{relations}. {COUNTED}"
        tables[folder / "README.md"] = "\n".join((where, "", counted, "", *rows))
        title = catalog.project.title if catalog.project else folder.name
        lines.append(f"- [{fmt.markdown(title)}](projects/{folder.name}/README.md): {figures}.")
    if lines:
        tables[root / "README.md"] = "\n".join(lines)
    return tables


def _judged(path: Path) -> tuple[Catalog, Sequence[Verdict]]:
    """Return the catalog of a packed report, and its verdicts."""
    with opened_report(path) as report:
        verdicts = read_record(VerdictsFile, report / VERDICTS).verdicts
        return load_catalog(report / "evidence"), with_known_causes(verdicts)


def _with_computed(judged: Catalog, today: Catalog) -> Catalog:
    """Return the catalog of a report in which the project says today of which figures they are
    printed nowhere: a report may be older than that.
    """
    says = {claim.id: claim for claim in today.claims.values() if claim.computed}
    claims = {
        name: claim.model_copy(update={"computed": says[name].computed})
        if name in says and says[name].value == claim.value
        else claim
        for name, claim in judged.claims.items()
    }
    return replace(judged, claims=claims)


def _claimed(catalog: Catalog, row: Verdict) -> str:
    """Return a claimed figure; of one that the document does not print, what it follows from."""
    claim, told = catalog.claims[row.claim], claimed_text(catalog, row)
    return told.replace(COMPUTED, f" (computed: {claim.computed})")


def _measured_on(verdicts: Sequence[Verdict]) -> str:
    places = {
        (v.measured_on.product, v.measured_on.recorded_at[:10]) for v in verdicts if v.measured_on
    }
    return " and ".join(f"measured on {product} ({day})" for product, day in sorted(places))


def _counts(once: Sequence[Outcome]) -> tuple[str, str]:
    """Return what became of the figures, and of the relations between them."""
    splits = counts_of(once)
    found, relations = splits[headed(splits)], told(splits["relations"])
    elsewhere = told(splits[ELSEWHERE], ELSEWHERE)
    return (
        f"{told(found)}{f'; on another GPU: {elsewhere}' if elsewhere else ''}",
        f"; relations between its own figures: {relations}" if relations else "",
    )


def _rows(catalog: Catalog, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each figure that was measured, in the order of the claims."""
    for row in verdicts:
        if row.claim not in catalog.claims or not isinstance(row.measured, float):
            continue
        measured = fmt.figure(row.measured, row.unit)
        if (ci := fmt.interval_of(row.measured, row.unit, row.ci90)) is not None:
            measured = f"{measured} {ci}"
        cells = (
            catalog.claims[row.claim].statement,
            _claimed(catalog, row),
            measured,
            outcome(row).word,
        )
        yield f"| {' | '.join(str(fmt.markdown(cell)) for cell in cells)} |"


def replaced(text: str, table: str, path: Path) -> str:
    """Return ``text`` with what is between the markers replaced. Raises BadInput without them."""
    return between(text, BEGIN, END, table, path)


def main(arguments: list[str]) -> None:
    """Print what the projects came to, or write it into the READMEs."""
    for path, table in project_tables(ROOT).items():
        if "--write" in arguments:
            write_bytes(path, replaced(read_text(path), table, path).encode())
        else:
            sys.stdout.write(f"{path.relative_to(ROOT)}\n{table}\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])

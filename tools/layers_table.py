"""docs/pytorch.md's table of linear layers, generated from a published report that measured them.

``python -m tools.layers_table`` prints it, from the newest such report; ``--write`` puts it into
docs/pytorch.md, between its markers or, the first time, at the end. A test compares the two.
"""

import sys
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.findings.layers import LayerTable, layer_tables
from assay.judging.case import Case
from assay.report.formatting import markdown
from assay.report.layers import layer_markdown, pays_sentence
from assay.shared.files import write_bytes
from assay.verification.report_archive import opened_report
from assay.verification.trust import published_reports
from tools.marked_text import Markers

BEGIN = "<!-- layers: begin (python -m tools.layers_table --write) -->"
END = "<!-- layers: end -->"
CLAIM = "block_sparse_layers_vs_dense"
DOCUMENT = Path("docs") / "pytorch.md"
INTRODUCTION = """## Linear layers, sparse and dense

The time of `torch.nn.functional.linear` in fp16 over that of `bsr_gemm` on the same layer, with
90 % intervals; bold where the whole interval lies above 1. A share of the weights is zero, in
blocks of 128 x 128. `bsr_gemm` has a token in each column, a dense layer in each row; turning one
into the other is not timed. One token is computed as eight."""


def layers_text(catalog: Catalog, evidence: Evidence, report: str) -> str | None:
    """Return the section in Markdown; None where the report measured no layer."""
    tables = layer_tables(Case(catalog, evidence))
    if not tables:
        return None
    parts = [INTRODUCTION, *(_part(catalog, evidence, table, report) for table in tables)]
    return "\n\n".join(parts)


def _part(catalog: Catalog, evidence: Evidence, table: LayerTable, report: str) -> str:
    platform = evidence.platforms.get(table.target)
    product = catalog.targets[table.target].product
    if platform is not None:
        product = f"{platform.device.gpu.product}, {platform.recorded_at[:10]}"
    head = f"{markdown(product)} ({report}). {pays_sentence(table)}"
    return "\n".join([head, "", *layer_markdown(table)])


def newest_layers(root: Path) -> str:
    """Return the section by the newest report that answered the claim. Raises BadInput where it
    measured no layer.
    """
    for place in published_reports(root, [CLAIM])[:1]:
        with opened_report(place) as report:
            folder = report / "evidence"
            name = place.relative_to(root).as_posix()
            text = layers_text(load_catalog(folder), load_evidence(folder), name)
            if text is not None:
                return text
    raise BadInput("reports/published: no report there measured linear layers")


def replaced(document: str, section: str) -> str:
    """Return a document with the section between its markers, or with both at its end."""
    markers = Markers(BEGIN, END)
    if BEGIN not in document:
        return f"{document.rstrip()}\n\n{markers.block(section)}\n"
    missing = f"{DOCUMENT}: the marker of the layers' end is missing"
    return markers.replaced(document, section, missing)


def main(arguments: list[str]) -> None:
    """Print the section, or write it into docs/pytorch.md."""
    root = Path(__file__).resolve().parents[1]
    section = newest_layers(root)
    if "--write" in arguments:
        path = root / DOCUMENT
        write_bytes(path, replaced(read_text(path), section).encode())
    else:
        sys.stdout.write(section + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

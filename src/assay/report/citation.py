"""How a report is cited: a BibTeX entry that names its bytes. Pure: equal reports, equal text."""

import re
from dataclasses import dataclass

from assay.base.printable import shown_line

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
"""Characters that TeX reads otherwise than they stand."""


@dataclass(frozen=True)
class CitedReport:
    """What a citation says of a report."""

    run: str
    created: str
    """When it was signed: UTC, ISO 8601."""
    signer: str
    """Whoever signed it, as the verifier calls the key."""
    keyid: str
    manifest_sha256: str
    commit: str | None
    products: tuple[str, ...]
    """GPUs that its figures were measured on."""
    version: str
    """Of Assay, that writes this."""


def bibtex(report: CitedReport) -> str:
    """Return the entry of a report, which ends in a newline."""
    year, month = report.created[:4], int(report.created[5:7])
    on = " and ".join(report.products)
    title = f"Published GPU-kernel figures, measured again{f' on {on}' if on else ''}"
    notes = [
        f"Signed report of run {report.run}, {report.created[:10]}",
        f"SHA-256 of manifest.json {report.manifest_sha256}",
        f"signed by key {report.keyid}",
        *([f"judged by commit {report.commit}"] if report.commit else []),
    ]
    fields = {
        "title": "{" + _tex(title) + "}",
        "author": "{" + _tex(report.signer) + "}",
        "year": year,
        "month": month,
        "howpublished": _tex(f"Assay {report.version}, report {report.run}"),
        "note": _tex("; ".join(notes)),
    }
    key = f"assay_{re.sub('[^A-Za-z0-9]+', '_', report.run)}_{report.manifest_sha256[:8]}"
    lines = [f"  {name:12} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"]) + "\n"


def _tex(text: str) -> str:
    """Return a text as TeX shows it, in one line and with nothing in it that is not seen."""
    return "".join(SPECIAL.get(character, character) for character in shown_line(text))

"""How a report is cited: BibTeX, naming its bytes. Pure: equal reports, equal text."""

import re
from dataclasses import dataclass
from datetime import date

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
    authors: tuple[str, ...]
    """Who stands for the report, by name."""
    signer: str
    """The key that signed, as the verifier calls it."""
    keyid: str
    manifest_sha256: str
    commit: str | None
    products: tuple[str, ...]
    """GPUs that its figures were measured on."""
    project: str | None
    """Title of the project whose claims are judged; None of this repository's own sources."""
    version: str
    """Of Assay, that writes this."""
    address: str | None
    """Where the report, or the repository with it, can be had; None where nobody says."""


def bibtex(report: CitedReport) -> str:
    """Return the entry of a report, which ends in a newline."""
    what = f"Figures of {report.project}" if report.project else "Published GPU-kernel figures"
    on = f" on {' and '.join(report.products)}" if report.products else ""
    day = date.fromisoformat(report.created[:10])
    notes = [
        f"Signed report of run {report.run}, {day}",
        f"SHA-256 of manifest.json {report.manifest_sha256}",
        f"signed by key {report.keyid} ({report.signer})",
        *([f"judged by commit {report.commit}"] if report.commit else []),
    ]
    fields = {
        "title": "{" + _tex(f"{what}, measured again{on}") + "}",
        "author": " and ".join("{" + _tex(name) + "}" for name in report.authors),
        "year": str(day.year),
        "month": f"{day:%B}",
        "howpublished": _tex(f"Assay {report.version}, report {report.run}"),
        **({"url": report.address} if report.address else {}),
        "note": _tex("; ".join(notes)),
    }
    key = f"assay_{re.sub('[^A-Za-z0-9]+', '_', report.run)}_{report.manifest_sha256[:8]}"
    lines = [f"  {name:12} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"]) + "\n"


def _tex(text: str) -> str:
    """Return a text as TeX shows it, in one line and with nothing in it that is not seen."""
    return "".join(SPECIAL.get(character, character) for character in shown_line(text))

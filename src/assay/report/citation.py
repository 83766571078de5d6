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

    @property
    def title(self) -> str:
        """Return what the report is."""
        what = f"Figures of {self.project}" if self.project else "Published GPU-kernel figures"
        on = " and ".join(self.products)
        return f"{what}, measured again{f' on {on}' if on else ''}"

    @property
    def day(self) -> date:
        """Return when it was signed."""
        return date.fromisoformat(self.created[:10])

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what fixes its bytes, and who signed them."""
        judged = (f"judged by commit {self.commit}",) if self.commit else ()
        return (
            f"Signed report of run {self.run}, {self.created[:10]}",
            f"SHA-256 of manifest.json {self.manifest_sha256}",
            f"signed by key {self.keyid} ({self.signer})",
            *judged,
        )


def bibtex(report: CitedReport) -> str:
    """Return the entry of a report, which ends in a newline."""
    fields = {
        "title": "{" + _tex(report.title) + "}",
        "author": " and ".join("{" + _tex(name) + "}" for name in report.authors),
        "year": str(report.day.year),
        "month": f"{report.day:%B}",
        "howpublished": _tex(f"Assay {report.version}, report {report.run}"),
        **({"url": report.address} if report.address else {}),
        "note": _tex("; ".join(report.notes)),
    }
    key = f"assay_{re.sub('[^A-Za-z0-9]+', '_', report.run)}_{report.manifest_sha256[:8]}"
    lines = [f"  {name:12} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"]) + "\n"


def _tex(text: str) -> str:
    """Return a text as TeX shows it, in one line and with nothing in it that is not seen."""
    return "".join(SPECIAL.get(character, character) for character in shown_line(text))

"""The project whose claims a report judges: its name, its digest, and whose the claims are."""

from dataclasses import dataclass

from assay.base.printable import shortened
from assay.catalog.model import Catalog

UNTITLED = "A project without a title"
LONGEST_TITLE = 120
"""Characters of a title that is shown as a heading: it is its author's."""


@dataclass(frozen=True)
class ProjectStamp:
    """A project as its report names it."""

    title: str
    sha256: str
    """Of assay.yaml and all its code: it is signed."""
    says: str
    """Whose the claims are, and what is Assay's."""


def project_stamp(catalog: Catalog) -> ProjectStamp | None:
    """Return the stamp of a project's report; None of one of Assay's own sources."""
    if catalog.project is None:
        return None
    return ProjectStamp(
        title=project_title(catalog.project.title),
        sha256=catalog.project.sha256,
        says="Not a report of Assay's own sources: the claims, their tolerances and formulas are "
        "those of this project, for which its signer stands and nobody else. The margins, the "
        "protocols and the peaks of Assay's targets are Assay's.",
    )


def project_title(title: str) -> str:
    """Return a title as a heading shows it."""
    return shortened(" ".join(title.split()), LONGEST_TITLE) or UNTITLED

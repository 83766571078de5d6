"""Links from the report's pages to its records."""

from dataclasses import dataclass

from assay.report import formatting as fmt


@dataclass(frozen=True)
class Link:
    """A link to a record inside the report."""

    text: str
    href: str


def link(path: str) -> Link:
    """Return a link to a file of the report by its path."""
    return Link(fmt.link_text(path), fmt.href(path))

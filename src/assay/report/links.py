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


def record_link(path: str, target: str | None) -> Link:
    """Return a link to a record of a verdict, where its target and what it is of are known.

    ``benchmark bsr_gemm_stages``, ``build bsr_gemm_stage0``.
    """
    parts = fmt.link_text(path).removeprefix(f"{target}/").split("/")
    kind = {"builds": "build"}.get(parts[0], parts[0])
    return Link(f"{kind} {parts[-1]}" if len(parts) > 1 else kind, fmt.href(path))

"""Generated text between two markers of a document that people write; for the tools here."""

from pathlib import Path

from assay.base.errors import BadInput


def between(document: str, begin: str, end: str, text: str, path: Path) -> str:
    """Return ``document``, which lies at ``path``, with what is between the markers replaced.

    Raises BadInput where they are not both there, in this order.
    """
    head, first, rest = document.partition(begin)
    _, last, tail = rest.partition(end)
    if not (first and last):
        raise BadInput(f"{path} has no markers {begin} and {end}")
    return f"{head}{begin}\n\n{text}\n\n{end}{tail}"

"""``./assay version``: say which Assay this is."""

from assay import __version__
from assay.cli.console import say


def version() -> None:
    """The version of Assay."""
    say(__version__)

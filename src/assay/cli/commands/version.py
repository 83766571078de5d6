"""``./assay version``: say which Assay this is."""

from assay import __version__
from assay.cli.console import say


def version() -> None:
    """Say which version of Assay this is."""
    say(__version__)

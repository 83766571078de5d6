"""``./assay version``: say which Assay this is."""

from assay import __version__
from assay.base.commits import git_state
from assay.cli import checkout
from assay.cli.console import say


def version() -> None:
    """Say which version of Assay this is, and which commit."""
    commit, clean = git_state(checkout.ROOT)
    changed = " with changes" if clean is False else ""
    say(f"{__version__} (commit {commit or 'not known'}{changed})")

"""Which rules judge: a number that goes up whenever the same evidence may get another verdict."""

from assay.records.verdicts import VerdictsFile

RULES = 2
"""The rules of this code. Reports of other rules are judged again by the code of their commit."""


def rules_of(verdicts: VerdictsFile) -> int:
    """Return the rules that verdicts were made by; ``assay/verdicts/1`` is of the first."""
    return verdicts.rules

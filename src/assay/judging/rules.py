"""Which rules judge: a number that goes up whenever the same evidence may get another verdict."""

from assay.records.verdicts import VerdictsFile

RULES = 1
"""The rules of this code. Reports of other rules are judged again by the code of their commit."""


def rules_of(verdicts: VerdictsFile) -> int:
    """The rules that verdicts were made by; those of ``assay/verdicts/1`` name none: the first."""
    named: int | None = getattr(verdicts, "rules", None)
    return 1 if named is None else named

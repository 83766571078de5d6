"""Which rules judge: a number that goes up whenever the same evidence may get another verdict."""

RULES = 9
"""The rules of this code. Reports of other rules are judged again by the code of their commit."""

"""Which rules judge: a number that goes up whenever the same evidence may get another verdict."""

RULES = 13
"""The rules of this code. A report of other rules is intact at most: its commit can verify it."""

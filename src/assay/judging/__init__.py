"""The ways to a verdict, one module an evaluation; ``judge`` is the entry. Pure."""

RULES = 21
"""The rules of this code: a number that goes up whenever the same evidence may get another verdict.
A report of other rules is intact at most: its commit can verify it."""

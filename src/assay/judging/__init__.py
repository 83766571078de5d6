"""The ways to a verdict, one module an evaluation; ``judge`` is the entry. Pure."""

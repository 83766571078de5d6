"""How a verdict is reached, one module an evaluation; ``judge`` is the entry. Pure."""

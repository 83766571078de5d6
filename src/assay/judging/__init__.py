"""How a verdict is reached, one module an evaluation; ``assay.judge`` is the entry. Pure."""

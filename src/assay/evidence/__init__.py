"""The records of a run: what there are, where they lie, how they are read."""

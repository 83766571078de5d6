"""The steps of a run, and their order."""

"""Container images made here, the same bytes on every machine."""

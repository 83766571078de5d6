"""The report of a run: what its templates print, its figures, its directory. Computes no figure."""

"""Summaries, intervals, bimodality, rooflines. Pure."""

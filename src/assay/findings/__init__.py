"""Findings from the evidence that stand beside verdicts. Pure."""

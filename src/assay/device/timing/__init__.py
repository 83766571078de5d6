"""Timing launches."""

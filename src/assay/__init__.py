"""Assay: from a published GPU-kernel figure to a signed verdict."""

__version__ = "0.2.0"

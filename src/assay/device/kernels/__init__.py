"""Inputs, oracles, and the kernels and libraries that run on them."""

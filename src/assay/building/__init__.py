"""Compiling: the pinned toolchain, the recipe, the builds, and how two builds differ."""

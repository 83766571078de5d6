"""The host's g++, which nvcc compiles with."""

import shutil

from assay.base.errors import MissingEnvironment


def require_host_compiler() -> None:
    """Raise MissingEnvironment without a g++ on PATH."""
    if shutil.which("g++") is None:
        raise MissingEnvironment(
            "nvcc needs a C++ compiler and there is no g++: install it "
            "(apt-get install g++) and start again"
        )

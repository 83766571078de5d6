"""The host's g++, which nvcc compiles with. Standard library only: the launcher asks for it."""

import shutil
from collections.abc import Sequence

from assay.base.errors import MissingEnvironment

ELSEWHERE = (
    "--claim", "--dry-run", "--executor", "--help", "--prebuilt", "--project", "--runtime",
    "--source",
)  # fmt: skip
"""Options of ``reproduce`` by which it may compile nothing on this host."""


def require_host_compiler() -> None:
    """Raise MissingEnvironment without a g++ on PATH."""
    if shutil.which("g++") is None:
        raise MissingEnvironment(
            "nvcc needs a C++ compiler and there is no g++: install it "
            "(apt-get install g++) and start again"
        )


def surely_compiles(command: str | None, arguments: Sequence[str]) -> bool:
    """Return whether a command compiles on this host, whatever its configuration says."""
    options = {word.partition("=")[0] for word in arguments}
    return command == "reproduce" and options.isdisjoint(ELSEWHERE)

"""Warnings of libraries among the lines of a device process.

Python writes where a warning was met, what it says, and below it the line of code. Every process
of a measurement warns anew of the same things: a log keeps them all, a person is told each once.
"""

import re

MET = "warned at: "
"""How the line of code is told that Python shows below a warning."""
_WARNING = re.compile(r"^(?P<place>\S.*?:\d+): (?P<kind>\w*Warning): (?P<text>.+)$")
_LABEL = re.compile(r" \(GPU \d+\)$")
_NUMBER = re.compile(r"\d+")
_LONGEST = 140
"""Characters of a warning that are told."""


class CodeLines:
    """Marks lines of code below warnings, which else nothing tells from any other line."""

    def __init__(self) -> None:
        self._warned = False

    def marked(self, line: str) -> str:
        """Return a line of a device process, a line of code with its mark."""
        below, self._warned = self._warned, _WARNING.match(line) is not None
        return f"{MET}{line.strip()}" if below and line.startswith("  ") else line


class ToldWarnings:
    """The warnings that a person was told of."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._told: set[str] = set()

    def told(self, line: str) -> str | None:
        """Return what is told of a line: itself; of a warning, once, what it says and which log
        has all; nothing of one that was told, whatever its numbers, and of a line of code.
        """
        if line.startswith(MET):
            return None
        found = _WARNING.match(_LABEL.sub("", line))
        if found is None:
            return line
        kind, text = found["kind"], found["text"].strip()
        key = _NUMBER.sub("#", f"{kind}: {text}")
        if key in self._told:
            return None
        self._told.add(key)
        short = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} ..."
        return f"{kind}, told once (all are in {self._log}): {short}"

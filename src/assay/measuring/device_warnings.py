"""Warnings of libraries among the lines of a device process.

Every process of a measurement warns anew of the same things: a log keeps them all, a person is told
each once. Python shows the line of code, indented, below what a warning says.
"""

import re

_WARNING = re.compile(r"^\S.*?:\d+: (?P<kind>\w*Warning): (?P<text>.+)$")
_LABEL = re.compile(r" \(GPU \d+\)$")
_LONGEST = 140
"""Characters of a warning that are told."""


class ToldWarnings:
    """The warnings that a person was told of."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._told: set[str] = set()
        self._code_lines = 0

    def told(self, line: str) -> str | None:
        """Return what is told of a line: itself; of a warning, once, what it says and which log
        has all; nothing of one that was told, whatever its numbers, and of a line of code.
        """
        found = _WARNING.match(_LABEL.sub("", line))
        if found is None:
            is_code = self._code_lines > 0 and line.startswith("  ")
            self._code_lines = self._code_lines - 1 if is_code else 0
            return None if is_code else line
        self._code_lines += 1
        kind, text = found["kind"], found["text"].strip()
        key = re.sub(r"\d+", "#", f"{kind}: {text}")
        if key in self._told:
            return None
        self._told.add(key)
        short = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} ..."
        return f"{kind}, told once (all are in {self._log}): {short}"

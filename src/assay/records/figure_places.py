"""The places for figures in a finding, such as ``{claim}`` and ``{claim.reading:work}``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PLACE = re.compile(
    r"\{(?P<claim>[a-z0-9_]+)(?:\.(?P<reading>[a-z0-9_]+))?(?::(?P<what>[a-z]+))?\}"
)


@dataclass(frozen=True)
class FigurePlace:
    """What stands at one place of a sentence."""

    claim: str
    reading: str | None
    what: str | None
    """``claimed``, ``work`` or ``gpu``; None for the measured figure."""


def places(text: str) -> Iterator[FigurePlace]:
    """Yield the places of a sentence, in order."""
    for found in _PLACE.finditer(text):
        yield FigurePlace(found["claim"], found["reading"], found["what"])


def split(text: str) -> list[str]:
    """Return the words around the places: one more than there are places."""
    return _PLACE.sub("\0", text).split("\0")

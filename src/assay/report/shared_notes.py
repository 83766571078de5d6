"""Sentences that many verdicts share: said once, as numbered notes, and referred to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LONG = 90
"""Letters from which on a sentence is worth a note."""
OFTEN = 3
"""Verdicts that share it."""


@dataclass(frozen=True)
class Told:
    """An explanation: its own sentences, and the numbers of the notes that belong to it."""

    text: str
    notes: tuple[int, ...]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; what stands in parentheses ends none."""
    found, begin, depth = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth <= 0 and letter in ".!?" and _begins(text[place + 1 :]):
            found.append(text[begin : place + 1])
            begin, depth = place + 2, 0
    return [*found, text[begin:]] if text[begin:] else found


def _begins(rest: str) -> bool:
    """Return whether a space and the first word of a sentence stand here.

    That is a capital, a number, or a name of a kernel or a file.
    """
    if not rest.startswith(" ") or len(rest) < 2:
        return False
    word = rest[1:].split(" ", 1)[0]
    return word[0].isupper() or word[0].isdigit() or "_" in word or "/" in word


def shared_notes(texts: Iterable[str]) -> dict[str, int]:
    """Return the long sentences that several texts share, each with its number from 1."""
    counts = Counter(sentence for text in texts for sentence in dict.fromkeys(sentences(text)))
    often = [sentence for sentence, n in counts.items() if n >= OFTEN and len(sentence) >= LONG]
    return {sentence: number for number, sentence in enumerate(often, start=1)}


def told(text: str, notes: Mapping[str, int], known: Sequence[str] = ()) -> Told:
    """Return a text without its notes and without the sentences that are ``known`` already."""
    own = [sentence for sentence in sentences(text) if sentence not in known]
    numbers = tuple(notes[sentence] for sentence in own if sentence in notes)
    return Told(" ".join(sentence for sentence in own if sentence not in notes), numbers)

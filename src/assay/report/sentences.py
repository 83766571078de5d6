"""Texts by their sentences, so that none is said twice of one claim."""

from collections.abc import Sequence


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


def without(text: str, known: Sequence[str]) -> str:
    """Return a text without the sentences that are ``known`` already."""
    return " ".join(sentence for sentence in sentences(text) if sentence not in known)

"""Counts in sentences: the noun, and the verb where one follows, agree with their number."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 claim`` or ``2 claims``; ``plural`` is for nouns that take more than an s."""
    return f"{number} {agreeing(number, noun, plural or noun + 's')}"


def agreeing(number: float, singular: str, plural: str) -> str:
    """Return the word that agrees with ``number``: ``is`` with 1, ``are`` with 0 and 2."""
    return singular if number == 1 else plural

"""Output that arrives in pieces, cut into lines."""

import codecs
from collections.abc import Iterable, Iterator


def lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield lines of a stream of UTF-8, without their ends, as soon as each is whole.

    Pieces end anywhere, inside of a character too. What is no UTF-8 becomes U+FFFD. A last line
    without an end counts.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest: list[str] = []
    for piece in pieces:
        *whole, last = decoder.decode(piece).split("\n")
        for line in whole:
            yield "".join([*rest, line]).removesuffix("\r")
            rest = []
        rest.append(last)
    if line := "".join([*rest, decoder.decode(b"", final=True)]):
        yield line

"""The badge of a report: what came of the published figures, as a small SVG. Pure.

It is derived from verdicts and no part of the report: equal verdicts give equal bytes.
"""

from collections import Counter
from collections.abc import Mapping
from html import escape

from assay.judging.counts import Tally
from assay.records.verdicts import Status
from assay.shared.counting import agreeing, counted

HEIGHT = 20
PADDING = 6
WIDTHS = {
    **dict.fromkeys("ijl.,:;'|! ", 3.6),
    **dict.fromkeys("frt()-/", 4.6),
    **dict.fromkeys("mwMW%", 10.2),
    **dict.fromkeys("0123456789", 7.0),
}
"""Of characters in Verdana at 11 pixels, about; ``textLength`` holds the words to the sum."""
WIDTH = 6.9
"""Of any other."""
LABEL = "assay"
DARK = "#3a3f47"
NOBODY = "#5b6472"
HOLD = (Status.REPRODUCED, Status.EXCEEDED)


def published_tally(counts: Mapping[str, Tally]) -> Tally:
    """Return what came of the published speed figures, from counts by kind: by what they would be,
    where they were measured on other hardware alone.
    """
    both = Counter(counts.get("published", {})) + Counter(counts.get("elsewhere", {}))
    return {status: both[status] for status in Status if both[status]}


def badge(tally: Tally, *, vouched: bool = True) -> str:
    """Return the badge of a report whose published figures came out as ``tally``.

    ``vouched``: whether a trusted key signed it; of any other the badge says that it is unverified,
    and no more.
    """
    words, colour = _said(tally) if vouched else ("unverified", NOBODY)
    title = f"{LABEL}: {badge_words(tally, vouched=vouched)}"
    left, right = (_width(text) + 2 * PADDING for text in (LABEL, words))
    whole = left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole:g}" height="{HEIGHT}" '
        f'viewBox="0 0 {whole:g} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{left:g}" height="{HEIGHT}" fill="{DARK}"/>'
        f'<rect x="{left:g}" width="{right:g}" height="{HEIGHT}" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">'
        f"{_text(LABEL, PADDING)}{_text(words, left + PADDING)}</g></svg>\n"
    )


def badge_words(tally: Tally, *, vouched: bool = True) -> str:
    """Return what a badge says, and of a report that is vouched for what came out how."""
    if not vouched:
        return "unverified"
    told = ", ".join(f"{count} {status.word}" for status, count in tally.items())
    return f"{_said(tally)[0]}{f' ({told})' if told else ''}"


def _said(tally: Tally) -> tuple[str, str]:
    """Return the words on the badge, and the colour of the status that they come to."""
    judged = sum(count for status, count in tally.items() if status is not Status.NOT_RUN)
    hold = sum(tally.get(status, 0) for status in HOLD)
    if not judged:
        return "nothing measured", Status.NOT_RUN.facts.light
    state = Status.REPRODUCED if hold == judged else Status.INCONCLUSIVE
    if not hold:
        state = Status.NOT_REPRODUCED
    verb = agreeing(hold, "holds", "hold")
    return f"{hold} of {counted(judged, 'figure')} {verb}", state.facts.light


def _width(text: str) -> float:
    return round(sum(WIDTHS.get(character, WIDTH) for character in text), 1)


def _text(words: str, x: float) -> str:
    length = _width(words)
    return f'<text x="{x:g}" y="14" textLength="{length:g}">{escape(words)}</text>'

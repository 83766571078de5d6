"""Text of others, made safe to show: on a terminal, and on a page.

What a report, a file name or a key id says may steer a terminal (an escape sequence retitles it,
hides what stands before, or links to elsewhere), turn the order of letters round, or be invisible.
Every way out passes its text through here; what is meant to be read stays as it is.

Standard library only: the launcher uses this before anything is installed.
"""

import json
import re
from collections.abc import Sequence

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and newline
    "\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # directions, zero width
    "\u2028\u2029"  # ends of lines to some
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # letters and marks that draw nothing
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb"  # formats of scripts
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags: a hidden copy of ASCII; further variants
    "\ud800-\udfff"  # halves of pairs, as file names that are no UTF-8 have them
)
_NOT_SHOWN = re.compile(f"[{_UNSEEN}]")
_NOT_IN_A_LINE = re.compile(f"[\n{_UNSEEN}]")
_LAST_CONTROL = 0x9F
LONGEST_LINE = 4000
"""Characters of a line that are shown: what others wrote may be a million long."""
NAMED = 4
"""Names of a group that are told where nobody asks for all."""
LONG_NAME = re.compile(r"'([^'\s]{120})[^'\s]{40,}([^'\s]{20})'")


def shown(text: str) -> str:
    """Return text with all but newline and tab seen: as ``\\x1b`` or as ``U+202E``."""
    return _NOT_SHOWN.sub(_spelled, text)


def shown_line(text: str) -> str:
    """Return the same as one line, cut where it is longer than anybody reads."""
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]}... ({len(text) - LONGEST_LINE:,} more characters)"
    return _NOT_IN_A_LINE.sub(_spelled, text)


def shortened(value: object, most: int) -> str:
    """Return a value's text, of which a sentence quotes ``most`` characters."""
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}..."


def with_short_names(text: str) -> str:
    """Return a sentence whose absurdly long names are cut in their middle."""
    return LONG_NAME.sub(r"'\1...\2'", text)


def first_named(names: Sequence[str], more: str = "more", most: int = NAMED) -> str:
    """Return the first few of ``names``, ``most`` of them, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} {more}" if rest > 0 else "")


def capital(text: str) -> str:
    """Return a text that begins a sentence."""
    return text[:1].upper() + text[1:]


def shown_sentence(text: str) -> str:
    """Return an error's text: a sentence, and lines below it that are indented by two spaces."""
    return "\n  ".join(map(shown_line, with_short_names(text).split("\n  ")))


def shown_json(value: object) -> str:
    """Return indented JSON of the same value, safe to show: what is unseen stands as an escape."""
    return escaped_json(json.dumps(value, indent=2, ensure_ascii=False))


def escaped_json(text: str) -> str:
    """Return JSON of the same value in which what is unseen stands as an escape."""
    return _NOT_SHOWN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= _LAST_CONTROL else f"U+{code:04X}"

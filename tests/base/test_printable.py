"""Text of others is shown whole and obeyed nowhere."""

import sys
import unicodedata

import pytest

from assay.base.printable import shown, shown_line, shown_sentence

HOSTILE = {
    "an escape character": ("\x1b", "\\x1b"),
    "a sequence that clears the screen": ("\x1b[2J", "\\x1b[2J"),
    "the same by one character": ("\x9b2J", "\\x9b2J"),
    "a link to elsewhere": ("\x1b]8;;http://x.example\x1b\\", "\\x1b]8;;http://x.example\\x1b\\"),
    "a new title": ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
    "a bell": ("\x07", "\\x07"),
    "a carriage return": ("\r", "\\x0d"),
    "a backspace": ("\x08", "\\x08"),
    "a NUL": ("\x00", "\\x00"),
    "a delete": ("\x7f", "\\x7f"),
    "letters from right to left": ("\u202egnp", "U+202Egnp"),
    "an isolate": ("\u2066", "U+2066"),
    "a mark of Arabic": ("\u061c", "U+061C"),
    "zero width": ("\u200b\u200d\ufeff", "U+200BU+200DU+FEFF"),
    "a line's end to some": ("\u2028", "U+2028"),
    "a tag": ("\U000e0041", "U+E0041"),
    "half a pair": ("\udcff", "U+DCFF"),
    "a letter that draws nothing": ("\u3164", "U+3164"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_not_seen_is_spelled(case: str) -> None:
    text, spelled = HOSTILE[case]
    assert shown(f"a{text}b") == f"a{spelled}b"
    assert shown_line(f"a{text}b") == f"a{spelled}b"


def test_no_character_without_a_shape_is_left() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert shown(character) != character or character in "\n\t", hex(code)


def test_what_is_meant_to_be_read_stays() -> None:
    text = "FLOP/s \N{NO-BREAK SPACE}µ é 漢字 \N{SUPERSCRIPT TWO} →\tx\ny"
    assert shown(text) == text
    assert shown("e\u0301") == "e\u0301"


@pytest.mark.parametrize("length", [300, 5_000, 100_000])
def test_a_name_without_end_does_not_hide_what_is_wrong_with_it(length: int) -> None:
    shown = shown_sentence(f"claim '{'a' * length}': there is no such claim: see 'x'")
    assert shown.endswith("aaa': there is no such claim: see 'x'")
    assert len(shown) < 220
